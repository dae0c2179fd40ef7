"""How much of the source a table's scope covers: the second and third part of a verdict, beside "equal or not"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidegate.model.names import counted
from tidegate.model.plan import Notice
from tidegate.model.report import Finding

CHECK = "coverage"
EXAMPLES = 3
NOTHING_COPIED = "the source has rows and the target has none: nothing is copied"


@dataclass(frozen=True)
class Outside:
    """Values or versions of the source that one rule leaves out on purpose."""

    rule: str
    """As the configuration writes it: `initial_load_count: 10`."""
    count: int | None
    """None where nobody counted them."""


@dataclass(frozen=True)
class Coverage:
    """What of the source is inside of the scope of one table, what is outside and why, and what the target has more."""

    unit: str = "value"
    """What is counted: `value` or `version`."""
    total: int | None = None
    """How many the source has; None where nobody counted."""
    outside: tuple[Outside, ...] = ()
    excluded_rows: int = 0
    """Rows without a partition value, which `values: {nulls: exclude}` leaves out on purpose."""
    uncovered_rows: int = 0
    """Rows that no rule left out and that no run copies: their partition value or their mark is null."""
    uncovered: str = ""
    """These rows in words."""
    remedy: str = ""
    besides: tuple[str, ...] = ()
    """Values that the target has and that neither the scope nor the source accounts for."""
    is_empty: bool = False
    """The source has rows and the target has none."""

    def notices(self) -> Iterator[Notice]:
        """Yield what `plan` and `status` say of it."""
        if self.uncovered_rows:
            yield Notice(self.uncovered, severity="warning")
        if self.excluded_rows:
            rows = counted(self.excluded_rows, "row")
            yield Notice(f"{rows} without a partition value stay outside (values: {{nulls: exclude}})")
        for part in self.outside:
            yield Notice(self._outside_in_words(part))
        if self.besides:
            more = ", ..." if len(self.besides) > EXAMPLES else ""
            values = f"{counted(len(self.besides), self.unit)}: {', '.join(self.besides[:EXAMPLES])}{more}"
            yield Notice(f"the target has more than the scope and the source account for, {values}")

    def findings(self, table: str) -> Iterator[Finding]:
        """Yield what `verify` says of it. Only rows that no rule left out are an error."""
        for notice in self.notices():
            if notice.severity == "warning":
                yield Finding(table, CHECK, f"{notice.text}; {self.remedy}")
            else:
                yield Finding(table, CHECK, notice.text, severity="note")
        if self.is_empty:
            yield Finding(table, CHECK, NOTHING_COPIED, severity="warning")

    def in_words(self, table: str) -> Iterator[str]:
        """Yield what is not covered, for the last line of `verify`."""
        if self.uncovered_rows:
            yield f"{counted(self.uncovered_rows, 'row')} of {table} (no rule)"
        if self.excluded_rows:
            yield f"{counted(self.excluded_rows, 'row')} of {table} (values: {{nulls: exclude}})"
        for part in self.outside:
            yield f"{self._number(part)} of {table} ({part.rule})"

    def _outside_in_words(self, part: Outside) -> str:
        return f"{self._number(part)} stay outside ({part.rule})"

    def _number(self, part: Outside) -> str:
        if part.count is None:
            return f"older {self.unit}s"
        return f"{part.count:,} of {counted(self.total or part.count, self.unit)}"
