"""Choose how a partition value is loaded: by a switch of its partition, or directly. Reads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.errors import Unsupported
from tidegate.model.native import NativePartition, PartitionLayout, Precondition
from tidegate.model.values import Value


@dataclass(frozen=True)
class Found:
    """What is known of the partition of some values before they are loaded."""

    layout: PartitionLayout | None
    partition: NativePartition | None = None
    holds: bool = False
    """The partition has rows."""
    holds_others: bool = False
    """The partition has rows of values that are not loaded now."""
    unmet: tuple[Precondition, ...] = ()
    can_carry: bool = True
    """Rows of other values can be copied into the stage while nobody writes to them."""
    not_copied: tuple[str, ...] = ()
    """Columns of the target that the source does not have: a stage would not have their values."""


@dataclass(frozen=True)
class Choice:
    """How values are loaded, and why."""

    switches: bool
    why: str
    carries: bool = False
    """Rows of other values in the partition are copied into the stage."""
    problem: Precondition | None = None

    def __str__(self) -> str:
        return f"{'switch' if self.switches else 'direct'}: {self.why}"


def choose(setting: str, found: Found, windows: Sequence[Value]) -> Choice:
    """Return how these values of one partition are loaded. Raises Unsupported where `always_stage` cannot be."""
    if setting == "direct":
        return Choice(False, "`switch: direct`")
    layout, partition = found.layout, found.partition
    if layout is None:
        return Choice(False, "the table is not partitioned")
    if layout.problem:
        return Choice(False, layout.problem)
    if found.not_copied:
        return Choice(False, f"the target has {', '.join(found.not_copied)} besides the source's columns")
    if any(window.is_null for window in windows):
        return Choice(False, "rows without a value are loaded directly")
    if partition is None:
        return Choice(False, f"no partition takes {windows[0]}")
    if found.unmet:
        problem = found.unmet[0]
        if setting == "always_stage":
            raise refusal(layout, found.unmet)
        return Choice(False, f"{problem.reason} (error {problem.error})" if problem.error else problem.reason,
                      problem=problem)  # fmt: skip
    if found.holds_others and not found.can_carry:
        return Choice(False, f"its partition {partition.name} also has rows of other values")
    if found.holds_others and setting == "auto":
        return Choice(False, f"its partition {partition.name} also has rows of other values, which a stage would copy")
    if found.holds_others:
        return Choice(True, f"the other rows of {partition.name} are copied into the stage", carries=True)
    if found.holds:
        return Choice(True, f"in place of the rows of {partition.name}")
    return Choice(True, f"into the empty partition {partition.name}")


def refusal(layout: PartitionLayout, unmet: Sequence[Precondition]) -> Unsupported:
    cures = [statement for precondition in unmet for statement in precondition.cure]
    return Unsupported(
        f"{layout.table}: its partitions cannot be switched: "
        + "; ".join(f"{one.name}: {one.reason} (error {one.error})" if one.error else one.reason for one in unmet)
        + ".",
        "Nothing was written.",
        f"{'Run: ' + '; '.join(cures) + '. Or choose' if cures else 'Choose'} `switch: auto`, which loads such a table"
        " directly.",
    )
