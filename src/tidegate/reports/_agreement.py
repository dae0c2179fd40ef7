"""Compare source, lake and target: for one value, for all values of two places, and with the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tidegate.reports._reading import Facts, Value
from tidegate.reports._words import plural

SOURCE, LAKE, TARGET = range(3)


class Bar(Enum):
    """What a place has of a value, compared with the first place that has rows of it. Drawn as a bar of a cell."""

    SAME = "same"
    OTHER = "other"
    NOTHING = "nothing"
    UNCOUNTED = "uncounted"


def bars(value: Value) -> tuple[Bar, Bar, Bar]:
    """Return the bars of source, lake and target."""
    known = [place for place in (SOURCE, LAKE, TARGET) if value.rows[place]]
    first = known[0] if known else None
    return _bar(value, SOURCE, first), _bar(value, LAKE, first), _bar(value, TARGET, first)


def _bar(value: Value, place: int, first: int | None) -> Bar:
    rows = value.rows[place]
    if rows is None:
        return Bar.UNCOUNTED
    if rows == 0:
        return Bar.NOTHING
    if first is None or place == first:
        return Bar.SAME
    return Bar.OTHER if _equal(value, first, place) is False else Bar.SAME


def _equal(value: Value, first: int, second: int) -> bool | None:
    """Return whether two places have equal rows, by counts and receipts; None when neither is known."""
    rows, receipts = value.rows, value.receipts
    if value.contained and second == TARGET:
        return True  # the target may have more rows
    pairs = ((rows[first], rows[second]), (receipts[first], receipts[second]))
    known = [left == right for left, right in pairs if left is not None and right is not None]
    return all(known) if known else None


@dataclass(frozen=True)
class Agreement:
    """How many values are equal in two places, how many were compared, and how many are in scope."""

    agree: int
    compared: int
    total: int

    @property
    def sign(self) -> str:
        """Return `=`, `≠`, or `?` when not all values were compared."""
        if self.compared > self.agree:
            return "≠"
        return "=" if self.total and self.compared == self.total else "?"


def agreement(facts: Facts, first: int, second: int) -> Agreement:
    """Return on how many values two places agree."""
    # A value that the source no longer has is not a difference: it is compared between lake and target only.
    values = _comparable(facts, LAKE in (first, second))
    results = [_equal(value, first, second) for value in values if first != SOURCE or value.rows[SOURCE] != 0]
    return Agreement(results.count(True), len(results) - results.count(None), len(results))


def _comparable(facts: Facts, with_lake: bool) -> Iterator[Value]:
    """Yield every value in scope. A table that lists no values counts as one value."""
    for table in facts.tables:
        if with_lake and table.batches is not None:
            continue  # batches overlap, so their rows in the lake compare with nothing
        if not table.values:
            yield Value("", table.rows, (None, None, None), None, "", None, "", "")
        yield from (value for value in table.values if value.in_scope)


def _lacks(value: Value) -> bool:
    """Return whether the target lacks rows of the source."""
    # More rows than the source are no lack: the source may have purged them, and a table without deletes keeps them.
    source, target = value.rows[SOURCE], value.rows[TARGET]
    if source is not None and target is not None and target > source:
        return False
    return _equal(value, SOURCE, TARGET) is False


def objections(facts: Facts) -> list[str]:
    """Return the facts that contradict the verdict "equal". The page must not claim what its own rows refute."""
    values = [value for table in facts.tables for value in table.values if value.in_scope]
    different = sum(value.state in ("differs", "missing") for value in values)
    unproven = sum(value.state in ("loaded", "pending") for value in values)
    unequal = sum(_lacks(value) for value in values)
    errors = sum(finding.severity == "error" for finding in facts.findings)
    sentences = [
        (different, f"{plural(different, 'value')} missing or different"),
        (unproven, f"{plural(unproven, 'value')} not proven yet"),
        (unequal, f"{plural(unequal, 'value')} with other rows or receipts in the target"),
        (errors, f"{plural(errors, 'finding')} of severity error"),
    ]
    return [sentence for count, sentence in sentences if count]
