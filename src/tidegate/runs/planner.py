"""Plan: look at every table at once and turn the evidence into steps. No Spark, no writing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tidegate.config.project import Project
from tidegate.config.tables import Table
from tidegate.errors import TidegateError, Unsupported
from tidegate.interfaces import Database
from tidegate.lakes.parquet import ParquetLake
from tidegate.loads._own_columns import REMEDY, reason_without_key
from tidegate.model.columns import Shape
from tidegate.model.coverage import NOTHING_COPIED, Coverage
from tidegate.model.evidence import PartitionEvidence
from tidegate.model.names import TableName
from tidegate.model.plan import DAILY, Land, Load, Notice, Step, TablePlan
from tidegate.runs.kinds import kind_of
from tidegate.runs.kinds.kind import Witnesses
from tidegate.runs.planned import Ask, Planned, Unplanned
from tidegate.runs.sessions import SessionPool
from tidegate.runs.tables import UNTOUCHED, Catalogs, ResolvedTable
from tidegate.runs.together import both
from tidegate.sql.contents import has_rows
from tidegate.sql.staged import have_values
from tidegate.state.ledger import Ledger

LARGE_LOAD = 1_000_000
MOST_WARNINGS = 5


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
        foresee: Callable[[], None] = lambda: None,
    ) -> list[Planned | Unplanned]:
        """Every table, in the order of `keys`; `planned` is called as soon as one is done, from any thread, and
        `foresee` as soon as it is clear that one will have rows to move."""
        settings = [self.project.tables[key] for key in keys]
        sources, (targets, has_ledger) = both(
            lambda: self._in_source(settings), lambda: self._in_target(settings, trust_ledger)
        )

        def one(table: Table) -> Planned | Unplanned:
            result = self._one(table, (sources, targets), has_ledger, ask, count_all, foresee)
            planned(result)
            return result

        with ThreadPoolExecutor(max(1, min(len(settings), self.project.max_connections))) as threads:
            return list(threads.map(one, settings))

    def _in_source(self, settings: Sequence[Table]) -> dict[TableName, Shape]:
        with self._sources.session() as source:
            return source.shapes([one.source_table.within(self.source.default_schema) for one in settings])

    def _in_target(self, settings: Sequence[Table], trust_ledger: bool) -> tuple[dict[TableName, Shape], bool]:
        """Its tables, and whether there is a ledger to be asked."""
        ledger = self.target.own_table("ledger")
        with self._targets.session() as target:
            found = target.shapes([*(one.target_table.within(self.target.default_schema) for one in settings), ledger])
            has_ledger = found.pop(ledger, None) is not None and trust_ledger
            if has_ledger:
                Ledger(target).require_own()
        return found, has_ledger

    def _one(
        self,
        settings: Table,
        shapes: tuple[dict[TableName, Shape], dict[TableName, Shape]],
        has_ledger: bool,
        ask: Ask,
        count_all: bool,
        foresee: Callable[[], None],
    ) -> Planned | Unplanned:
        kind, table, seen = kind_of(settings), None, None
        try:
            with self._sources.session() as source, self._targets.session() as target:
                table = kind.resolve(settings, Catalogs(source, target, *shapes))
                ledger = Ledger(target) if has_ledger else None
                at = Witnesses(source, target, self.lake, ledger, self.target.connection.display, foresee)
                seen = kind.look(table, at, count_all=count_all)
        except TidegateError as problem:
            return Unplanned(settings.name, problem, table, seen)
        request = ask(table, seen)  # wrong use is raised to whoever asked, not noted as this table's failure
        try:
            scope, steps = kind.plan(table, seen, request)
            coverage = kind.coverage(table, seen, scope)
            steps += [*coverage.notices(), *_nothing_copied(coverage, steps), *self._told_by_target(settings, steps)]
            steps += self._refused_loads(table, seen, steps)
        except TidegateError as problem:
            return Unplanned(settings.name, problem, table, seen)
        first: list[Step] = [table.schema_change] if table.schema_change and steps_move_rows(steps) else []
        plan = TablePlan(settings.name, (*first, *steps, *table.notices), scope, settings.kind, table.columns)
        return Planned(settings.name, table, seen, plan, coverage)

    def _told_by_target(self, settings: Table, steps: Sequence[Step]) -> list[Step]:
        """What the server says of loads, and of the room for a large one. Raises Unsupported for one that is larger
        than allowed."""
        loads = [step for step in steps if isinstance(step, Load)]
        if not loads:
            return []
        size = getattr(settings, "batch_size", None)
        largest = max(min(step.rows or 0, size or sys.maxsize) for step in loads)
        if settings.max_apply_rows is not None and largest > settings.max_apply_rows:
            raise Unsupported(
                f"{settings.name}: {largest:,} rows would come in one transaction, `max_apply_rows` allows"
                f" {settings.max_apply_rows:,}.",
                UNTOUCHED,
                "Raise `max_apply_rows`, or take less at once: a finer partition column, `batch_size` for versions.",
            )
        with self._targets.session() as target:
            told: list[Step] = [Notice(remark) for remark in target.remarks()]
            room = target.room() if largest >= LARGE_LOAD else ""
        return [*told, Notice(f"{largest:,} rows come in one transaction; {room}")] if room else told

    def _refused_loads(self, table: ResolvedTable, seen: PartitionEvidence, steps: Sequence[Step]) -> list[Step]:
        """Warn of loads that would lose values of columns that only the target has. The load itself refuses them, each
        value for itself: other values are not held up."""
        own, extracted = table.own_columns, {step.value for step in steps if isinstance(step, Land)}
        if not own or table.own_key or not table.replaces_rows:
            return []
        warnings: list[Step] = []
        with self._targets.session() as target:
            for step in [step for step in steps if isinstance(step, Load) and step.value in seen.target]:
                file = seen.lake.get(step.value) if step.value not in extracted else None
                lost = [column for column in own if file is None or column.name not in file.columns]
                rows = table.target_request(step.value).rows
                if lost and target.query(has_rows(table.target_name, have_values(lost, rows))) != [(0,)]:
                    text = f"{reason_without_key(lost)} them again: the load will be refused. {REMEDY}"
                    warnings.append(Notice(text, step.value, "warning"))
                if len(warnings) == MOST_WARNINGS:
                    break
        return warnings

    def close(self) -> None:
        self._sources.close()
        self._targets.close()

    @contextmanager
    def open(self) -> Iterator[Planner]:
        try:
            yield self
        finally:
            self.close()


def _nothing_copied(coverage: Coverage, steps: Sequence[Step]) -> list[Step]:
    """Return a warning for a source whose rows neither are in the target nor come with this plan."""
    is_said = coverage.is_empty and not steps_move_rows(steps)
    return [Notice(NOTHING_COPIED, severity="warning")] if is_said else []


def steps_move_rows(steps: Sequence[Step]) -> bool:
    """DDL waits until there are rows for it: an empty source creates no table."""
    return any(isinstance(step, (Land, Load)) for step in steps)
