"""Plan: look at every table at once and turn the evidence into steps. No Spark, no writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from tidegate.changes import partition
from tidegate.changes.partition import DAILY, Request
from tidegate.config.project import PartitionTable, Project
from tidegate.errors import TidegateError
from tidegate.interfaces import Database
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.columns import Shape
from tidegate.model.evidence import PartitionEvidence
from tidegate.model.names import TableName
from tidegate.model.plan import Land, Load, Plan, Step, TablePlan
from tidegate.runs.looking import Witnesses, look
from tidegate.runs.sessions import SessionPool
from tidegate.runs.tables import ResolvedTable, resolve
from tidegate.state.ledger import Ledger

Ask = Callable[[ResolvedTable, PartitionEvidence], Request]


@dataclass(frozen=True)
class Planned:
    """One table: what was found, and what follows."""

    key: str
    table: ResolvedTable
    evidence: PartitionEvidence
    plan: TablePlan


@dataclass(frozen=True)
class Unplanned:
    """A table that could not be planned, with what was found of it before the problem."""

    key: str
    problem: TidegateError
    table: ResolvedTable | None = None
    evidence: PartitionEvidence | None = None


def sorted_out(found: Sequence[Planned | Unplanned]) -> tuple[list[Planned], dict[str, str]]:
    """The tables that were planned, and the problems of the others."""
    problems = {one.key: str(one.problem) for one in found if isinstance(one, Unplanned)}
    return [one for one in found if isinstance(one, Planned)], problems


def as_plan(found: Sequence[Planned | Unplanned]) -> Plan:
    planned, problems = sorted_out(found)
    return Plan(tuple(one.plan for one in planned), tuple(problems.items()))


class Planner:
    """Looks at the databases of one project. Sessions stay open until it is closed."""

    def __init__(self, project: Project, source: Database, target: Database, lake: ParquetLake) -> None:
        self.project, self.source, self.target, self.lake = project, source, target, lake
        limit, timeout = project.max_connections, project.query_timeout
        self._sources = SessionPool(source, limit, read_only=True, query_timeout=timeout)
        self._targets = SessionPool(target, limit, read_only=True, query_timeout=timeout)

    def plan(
        self,
        keys: Sequence[str],
        ask: Ask = lambda table, seen: DAILY,
        *,
        count_all: bool = False,
        planned: Callable[[Planned | Unplanned], None] = lambda one: None,
        trust_ledger: bool = True,
    ) -> list[Planned | Unplanned]:
        """Every table, in the order of `keys`; `planned` is called as soon as one is done, from any thread."""
        settings = [self.project.tables[key] for key in keys]
        with self._sources.session() as source, self._targets.session() as target:
            sources = source.shapes([one.source_table.within(self.source.default_schema) for one in settings])
            wanted = [one.target_table.within(self.target.default_schema) for one in settings]
            ledger = self.target.own_table("ledger")
            targets = target.shapes([*wanted, ledger])
            has_ledger = targets.pop(ledger, None) is not None
            if has_ledger and trust_ledger:
                Ledger(target).require_own()

        def one(table: PartitionTable) -> Planned | Unplanned:
            result = self._one(table, sources, targets, has_ledger and trust_ledger, ask, count_all)
            planned(result)
            return result

        with ThreadPoolExecutor(max(1, min(len(settings), self.project.max_connections))) as threads:
            return list(threads.map(one, settings))

    def _one(
        self,
        settings: PartitionTable,
        sources: dict[TableName, Shape],
        targets: dict[TableName, Shape],
        has_ledger: bool,
        ask: Ask,
        count_all: bool,
    ) -> Planned | Unplanned:
        table, seen = None, None
        try:
            with self._sources.session() as source, self._targets.session() as target:
                table = resolve(settings, source, target, sources, targets)
                ledger = Ledger(target) if has_ledger else None
                at = Witnesses(source, target, self.lake, ledger, self.target.connection.display)
                seen = look(table, at, count_all=count_all)
        except TidegateError as problem:
            return Unplanned(settings.name, problem, table, seen)
        request = ask(table, seen)  # wrong use is raised to whoever asked, not noted as this table's failure
        try:
            scope, steps = partition.plan(settings, seen, request)
        except TidegateError as problem:
            return Unplanned(settings.name, problem, table, seen)
        first: list[Step] = [table.schema_change] if table.schema_change and steps_move_rows(steps) else []
        plan = TablePlan(settings.name, (*first, *steps, *table.notices), scope, table.columns)
        return Planned(settings.name, table, seen, plan)

    def close(self) -> None:
        self._sources.close()
        self._targets.close()

    @contextmanager
    def open(self) -> Iterator[Planner]:
        try:
            yield self
        finally:
            self.close()


def steps_move_rows(steps: Sequence[Step]) -> bool:
    """DDL waits until there are rows for it: an empty source creates no table."""
    return any(isinstance(step, (Land, Load)) for step in steps)
