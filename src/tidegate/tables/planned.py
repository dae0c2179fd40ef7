"""A table after planning: what was found, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tidegate.errors import TidegateError
from tidegate.interfaces.change import AnyChange
from tidegate.interfaces.check import Check
from tidegate.interfaces.lake import LakeTable
from tidegate.interfaces.load import Load
from tidegate.model.coverage import Coverage
from tidegate.model.plan import Plan, Request, Step, TablePlan
from tidegate.model.state import RESTORED, TableState
from tidegate.model.values import Value
from tidegate.tables.found import FoundTable
from tidegate.tables.transform import Transform

AnyStep = TypeVar("AnyStep", bound=Step)


@dataclass(frozen=True)
class SyncTable:
    """One table to keep in sync: where it is on both sides, its change, its load and its checks."""

    found: FoundTable
    change: AnyChange
    load: Load
    checks: tuple[Check, ...]
    load_priority: int
    """Loads go from the smallest number to the greatest, extracts the other way: no fact is ever in the target before
    the row of a dimension that it refers to."""
    transform: Transform | None = None
    """What becomes of each row between lake and target."""
    raw_lake_table: LakeTable | None = None
    """With a transform: where the rows are as the source has them. `lake_table` has what is loaded."""

    @property
    def key(self) -> str:
        return self.found.key

    @property
    def ledger_name(self) -> str:
        return self.found.ledger_name

    @property
    def lake_table(self) -> LakeTable:
        return self.change.lake_table

    @property
    def fixed_columns(self) -> frozenset[str]:
        """Return the columns that a transform must leave alone: by them rows are found again, or told apart."""
        cursor = getattr(self.change, "cursor", None)
        named = getattr(cursor, "names", ()) or (() if cursor is None else (getattr(cursor, "name", ""),))
        return frozenset((*self.load.needs.keys, *named))

    @property
    def naming_keys(self) -> tuple[str, ...]:
        """Return the key that messages name a row by: the configured one, else the source's; empty without one."""
        return self.found.naming_keys(self.load.row_keys)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Return the columns that name a row for a person."""
        return self.found.row_names(self.load.row_keys)


Ask = Callable[[SyncTable, TableState], Request]
"""Returns what is asked of a table beyond the daily run."""


@dataclass(frozen=True)
class PlannedTable:
    """A table that was planned."""

    table: SyncTable
    state: TableState
    plan: TablePlan
    coverage: Coverage = field(default_factory=Coverage)
    """How much of the source the scope of the plan covers."""
    loads_with: frozenset[str] = frozenset()
    """Tables whose foreign keys form a cycle with this one, itself among them: one transaction loads all of them."""
    is_held: bool = False
    """Windows were restored, and nobody asked to go on."""

    @property
    def key(self) -> str:
        return self.table.key

    @property
    def restored(self) -> list[Value]:
        """Return the windows that a person restored: until `run --resume`, no run changes the table."""
        return sorted(window for window, entry in self.state.ledger.items() if entry.kind == RESTORED)

    def require_table(self) -> SyncTable:
        """Return the table."""
        return self.table

    def require_state(self) -> TableState:
        """Return what source, lake and target hold."""
        return self.state

    def steps(self, kind: type[AnyStep]) -> list[AnyStep]:
        return [step for step in self.plan.steps if isinstance(step, kind)]

    def has(self, kind: type[Step], window: Value) -> bool:
        return any(isinstance(step, kind) and getattr(step, "value", None) == window for step in self.plan.steps)


@dataclass(frozen=True)
class FailedTable:
    """A table that could not be planned, with what was found of it before the problem."""

    key: str
    problem: TidegateError
    table: SyncTable | None = None
    state: TableState | None = None

    def require_table(self) -> SyncTable:
        """Return the table, where it was found before the problem. Raises the problem otherwise."""
        if self.table is None:
            raise self.problem
        return self.table

    def require_state(self) -> TableState:
        """Return what source, lake and target hold, where they were asked before the problem. Raises it otherwise."""
        if self.state is None:
            raise self.problem
        return self.state


def partition_results(results: Sequence[PlannedTable | FailedTable]) -> tuple[list[PlannedTable], dict[str, str]]:
    """Return the tables that were planned, and the problems of the others."""
    problems = {result.key: str(result.problem) for result in results if isinstance(result, FailedTable)}
    return [result for result in results if isinstance(result, PlannedTable)], problems


def as_plan(results: Sequence[PlannedTable | FailedTable], notes: Sequence[str] = ()) -> Plan:
    planned, problems = partition_results(results)
    return Plan(tuple(table.plan for table in planned), tuple(problems.items()), tuple(notes))
