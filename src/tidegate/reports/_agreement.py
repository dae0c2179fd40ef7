"""Which places hold the same: for one value, for all values between two places, against the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tidegate.reports._reading import Facts, Value
from tidegate.reports._words import plural

SOURCE, LAKE, TARGET = range(3)


class Mark(Enum):
    """What one place holds of a value, measured against the first place that holds any of it."""

    SAME = "same"
    OTHER = "other"
    NOTHING = "nothing"
    UNCOUNTED = "uncounted"


def marks(value: Value) -> tuple[Mark, Mark, Mark]:
    """One mark per place: source, lake, target."""
    known = [place for place in (SOURCE, LAKE, TARGET) if value.rows[place]]
    first = known[0] if known else None
    return _mark(value, SOURCE, first), _mark(value, LAKE, first), _mark(value, TARGET, first)


def _mark(value: Value, place: int, first: int | None) -> Mark:
    rows = value.rows[place]
    if rows is None:
        return Mark.UNCOUNTED
    if rows == 0:
        return Mark.NOTHING
    if first is None or place == first:
        return Mark.SAME
    return Mark.OTHER if _equal(value, first, place) is False else Mark.SAME


def _equal(value: Value, one: int, other: int) -> bool | None:
    """Whether two places hold the same, as far as anybody looked; None when nobody did."""
    rows, receipts = value.rows, value.receipts
    if value.contained and other == TARGET:
        return True  # it may hold more
    pairs = ((rows[one], rows[other]), (receipts[one], receipts[other]))
    known = [left == right for left, right in pairs if left is not None and right is not None]
    return all(known) if known else None


@dataclass(frozen=True)
class Between:
    """How many values two places agree on, of those that were compared, of all that are in scope."""

    agree: int
    compared: int
    total: int

    @property
    def sign(self) -> str:
        if self.compared > self.agree:
            return "≠"
        return "=" if self.total and self.compared == self.total else "?"


def between(facts: Facts, one: int, other: int) -> Between:
    """Absence is never deletion: what the source purged is compared between lake and target only."""
    kept = [value for value in _comparable(facts, LAKE in (one, other)) if one != SOURCE or value.rows[SOURCE] != 0]
    found = [_equal(value, one, other) for value in kept]
    return Between(found.count(True), len(found) - found.count(None), len(found))


def _comparable(facts: Facts, with_lake: bool) -> Iterator[Value]:
    """Every value in scope; a table that lists none counts as one value. Batches overlap: a lake of them is compared
    with nothing."""
    for table in facts.tables:
        if with_lake and table.batches is not None:
            continue
        if not table.values:
            yield Value("", table.rows, (None, None, None), None, "", None, "", "")
        yield from (value for value in table.values if value.in_scope)


def _lacks(value: Value) -> bool:
    """True when the target lacks something of the source. More rows than the source are no lack: the source
    may have purged them, and a table without deletes keeps them."""
    source, target = value.rows[SOURCE], value.rows[TARGET]
    if source is not None and target is not None and target > source:
        return False
    return _equal(value, SOURCE, TARGET) is False


def objections(facts: Facts) -> list[str]:
    """What in the facts speaks against "equal": a page that proves does not repeat what its rows refute."""
    values = [value for table in facts.tables for value in table.values if value.in_scope]
    told = sum(value.state in ("differs", "missing") for value in values)
    early = sum(value.state in ("loaded", "pending") for value in values)
    unequal = sum(_lacks(value) for value in values)
    errors = sum(finding.severity == "error" for finding in facts.findings)
    said = [
        (told, f"{plural(told, 'value')} missing or different"),
        (early, f"{plural(early, 'value')} not proven yet"),
        (unequal, f"{plural(unequal, 'value')} with other rows or receipts in the target"),
        (errors, f"{plural(errors, 'finding')} of severity error"),
    ]
    return [sentence for count, sentence in said if count]
