"""How much of the source the scope of a table covers. A verdict says this besides "equal or not"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidegate.model.names import pluralize
from tidegate.model.plan import Notice
from tidegate.model.report import Finding

CHECK = "coverage"
EXAMPLES = 3
NOTHING_COPIED = "the source has rows and the target has none: nothing is copied"


@dataclass(frozen=True)
class Outside:
    """Values or versions of the source that one setting excludes on purpose."""

    rule: str
    """As the configuration writes it: `initial_load_count: 10`."""
    count: int | None
    """None where they were not counted."""


@dataclass(frozen=True)
class Coverage:
    """Which part of the source the scope of one table excludes and why, and what only the target has."""

    unit: str = "value"
    """What is counted: `value` or `version`."""
    total: int | None = None
    """How many the source has; None where they were not counted."""
    outside: tuple[Outside, ...] = ()
    excluded_rows: int = 0
    """Rows without a partition value, which `values: {nulls: exclude}` excludes on purpose."""
    uncovered_rows: int = 0
    """Rows that no setting excludes and that no run copies: their partition value or their cursor is null."""
    uncovered: str = ""
    """A sentence about `uncovered_rows`."""
    remedy: str = ""
    besides: tuple[str, ...] = ()
    """Values that only the target has, and that are not in the scope."""
    is_empty: bool = False
    """The source has rows and the target has none."""
    where: str = ""
    """The condition for the rows that are copied."""
    left_out: int | None = None
    """How many rows do not meet it, where they were counted."""

    def notices(self) -> Iterator[Notice]:
        """Yield the notices of `plan` and `status`."""
        if self.uncovered_rows:
            yield Notice(self.uncovered, severity="warning")
        if self.excluded_rows:
            rows = pluralize(self.excluded_rows, "row")
            yield Notice(f"{rows} without a partition value are excluded (values: {{nulls: exclude}})")
        for part in self.outside:
            yield Notice(self._outside_in_words(part))
        if self.where:
            yield Notice(f"{self._left_out()} are not in scope (where: {self.where})")
        if self.besides:
            more = ", ..." if len(self.besides) > EXAMPLES else ""
            values = f"{pluralize(len(self.besides), self.unit)} ({', '.join(self.besides[:EXAMPLES])}{more})"
            yield Notice(f"only in the target, outside of the scope: {values}")

    def findings(self, table: str) -> Iterator[Finding]:
        """Yield the findings of `verify`. Only rows that no setting excludes are an error."""
        for notice in self.notices():
            if notice.severity == "warning":
                yield Finding(table, CHECK, f"{notice.text}; {self.remedy}")
            else:
                yield Finding(table, CHECK, notice.text, severity="note")
        if self.is_empty:
            yield Finding(table, CHECK, NOTHING_COPIED, severity="warning")

    def in_words(self, table: str) -> Iterator[str]:
        """Yield `355 of 365 values of trades (initial_load_count: 10)`, for the last line of `verify`."""
        if self.uncovered_rows:
            yield f"{pluralize(self.uncovered_rows, 'row')} of {table} (excluded by no setting)"
        if self.excluded_rows:
            yield f"{pluralize(self.excluded_rows, 'row')} of {table} (values: {{nulls: exclude}})"
        for part in self.outside:
            yield f"{self._number(part)} of {table} ({part.rule})"
        if self.where and self.left_out != 0:
            yield f"{self._left_out()} of {table} (where: {self.where})"

    def _left_out(self) -> str:
        return "other rows" if self.left_out is None else pluralize(self.left_out, "row")

    def _outside_in_words(self, part: Outside) -> str:
        return f"{self._number(part)} are not in scope ({part.rule})"

    def _number(self, part: Outside) -> str:
        if part.count is None:
            return f"older {self.unit}s"
        return f"{part.count:,} of {pluralize(self.total or part.count, self.unit)}"
