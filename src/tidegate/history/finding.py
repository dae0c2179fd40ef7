"""What can be wrong with a table of versions: a finding counts the versions or keys of one kind, with examples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from tidegate.hashing.differences import EXAMPLES
from tidegate.model.names import pluralize


class Kind(Enum):
    """The kinds of findings, in the order in which they are reported: the check, what is counted, and the text."""

    LOST = ("receipt", "version", "that the source lost ({}): kept as history")
    MISSING = ("receipt", "version", "missing in the target ({})")
    EXTRA = ("receipt", "version", "only in the target ({})")
    DUPLICATE = ("scd_integrity", "duplicate version", "in the target")
    NO_CURRENT = ("receipt", "key", "without a current version ({})")
    DIFFERENT = ("receipt", "current version", "different from the source ({})")
    NOT_CLOSED = ("receipt", "key", "still current after leaving the source ({})")
    SEVERAL_CURRENT = ("scd_integrity", "key", "with more than one current version ({})")
    STALE = ("scd_integrity", "version", "current although newer ones exist ({})")
    OVERLAP = ("scd_integrity", "version", "ending after the next one starts ({})")
    GAP = ("gaps", "version", "ending before the next one starts ({})")
    STALE_IN_SOURCE = (
        "scd_integrity",
        "version",
        "current in the source although newer ones exist ({}): closed in the target",
    )
    CURRENT_IN_SOURCE = ("scd_integrity", "version", "current only in the source ({})")
    CURRENT_IN_TARGET = ("scd_integrity", "version", "current only in the target ({})")

    def __init__(self, check: str, noun: str, text: str) -> None:
        self.check, self.noun, self.text = check, noun, text


@dataclass(frozen=True)
class HistoryFinding:
    """How many versions or keys of a table are wrong in one way."""

    kind: Kind
    count: int
    examples: tuple[str, ...] = ()
    severity: str = "error"

    @property
    def text(self) -> str:
        """Return the finding for people."""
        more = "; ..." if self.count > EXAMPLES else ""
        return f"{pluralize(self.count, self.kind.noun)} {self.kind.text.format('; '.join(self.examples) + more)}"


def add_up(found: Iterable[HistoryFinding]) -> list[HistoryFinding]:
    """Return one finding of each kind, in the order of the kinds. Each of `found` is about other keys."""
    total: dict[Kind, HistoryFinding] = {}
    for one in found:
        known = total.get(one.kind, replace(one, count=0, examples=()))
        examples = (*known.examples, *one.examples)[:EXAMPLES]
        total[one.kind] = replace(known, count=known.count + one.count, examples=examples)
    return [total[kind] for kind in Kind if kind in total]
