"""Plan: inspect every table and turn its state into steps. No Spark, no writing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tidegate.config.tables import ConfiguredTable
from tidegate.errors import ConfigError, ForeignTarget, TidegateError, Unsupported
from tidegate.interfaces.change import Sessions
from tidegate.interfaces.session import Session
from tidegate.model.columns import TableSchema
from tidegate.model.coverage import NOTHING_COPIED, Coverage
from tidegate.model.names import TableName
from tidegate.model.plan import DAILY, ChangeSchema, Extract, Load, Notice, Request, Step, TablePlan
from tidegate.model.scope import Scope
from tidegate.model.state import RESTORED, TableState
from tidegate.model.values import Value
from tidegate.runs.run import Pipeline
from tidegate.runs.sessions import SessionPool
from tidegate.runs.unknown import note_for
from tidegate.sql.contents import has_rows
from tidegate.sql.staged import has_any_value
from tidegate.state import own_tables
from tidegate.state.ledger import Ledger
from tidegate.state.notes import Notes
from tidegate.state.rows_aside import Aside
from tidegate.tables.found import UNTOUCHED, Catalogs
from tidegate.tables.mapping import counted
from tidegate.tables.order import in_load_order
from tidegate.tables.own_columns import REMEDY, reason_without_key
from tidegate.tables.planned import Ask, FailedTable, PlannedTable, SyncTable
from tidegate.tables.resolve import resolve
from tidegate.tables.structure import Sides, base_of, missing_structure

LARGE_LOAD = 1_000_000
MOST_WARNINGS = 5


@dataclass(frozen=True)
class _Schemas:
    """What both catalogs say of the tables, and whether the target has a ledger to be asked."""

    sources: dict[TableName, TableSchema]
    targets: dict[TableName, TableSchema]
    has_ledger: bool


class Planner:
    """Inspects the databases of one project. Sessions stay open until it is closed."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        limit, timeout = pipeline.project.max_connections, pipeline.project.query_timeout
        self._sources = SessionPool(pipeline.source, limit, read_only=True, query_timeout=timeout)
        self._targets = SessionPool(pipeline.target, limit, read_only=True, query_timeout=timeout)

    def plan(
        self,
        keys: Sequence[str],
        ask: Ask = lambda table, state: DAILY,
        *,
        count_all: bool = False,
        planned: Callable[[PlannedTable | FailedTable], None] = lambda result: None,
        trust_ledger: bool = True,
        expect_rows: Callable[[], None] = lambda: None,
    ) -> list[PlannedTable | FailedTable]:
        """Return every table, in the order of `keys`. From any thread, `planned` is called as soon as a table is done,
        and `expect_rows` as soon as it is clear that rows must move."""
        tables = [self.pipeline.project.tables[key] for key in keys]
        sources, (targets, has_ledger) = Sessions.both(
            lambda: self._source_schemas(tables), lambda: self._target_schemas(tables, trust_ledger)
        )
        schemas = _Schemas(sources, targets, has_ledger)

        def plan_table(settings: ConfiguredTable) -> PlannedTable | FailedTable:
            result = self._plan(settings, schemas, ask, expect_rows, count_all=count_all)
            planned(result)
            return result

        with ThreadPoolExecutor(max(1, min(len(tables), self.pipeline.project.max_connections))) as threads:
            results = list(threads.map(plan_table, tables))
        results = self._completed(results)
        schemas_of_both = (self.pipeline.source.default_schema, self.pipeline.target.default_schema)
        return [self._in_one_transaction(result) for result in in_load_order(results, schemas_of_both)]

    def _completed(self, results: list[PlannedTable | FailedTable]) -> list[PlannedTable | FailedTable]:
        """Return the tables with steps for what `create` asks for and the target lacks."""
        planned = [result for result in results if isinstance(result, PlannedTable)]
        asked = [
            result.table.found
            for result in planned
            if result.table.found.settings.create.follows_loads
            and (result.table.found.target is not None or steps_move_rows(result.plan.steps))
        ]
        if not asked:
            return results
        sources = [base_of(table) for table in asked]
        targets = [table.target_name for table in asked if table.target is not None]
        with self._sources.session() as source, self._targets.session() as target:
            sides = Sides(
                self.pipeline.source,
                self.pipeline.target,
                source.structures(sources),
                target.structures(targets),
                source.foreign_keys(sources),
                target.foreign_keys(targets),
                {base_of(result.table.found): result.table.found for result in planned},
            )
        steps = {table.key: missing_structure(table, sides) for table in asked}
        return [
            replace(result, plan=replace(result.plan, steps=(*result.plan.steps, *steps.get(result.key, ()))))
            if isinstance(result, PlannedTable)
            else result
            for result in results
        ]

    def _in_one_transaction(self, result: PlannedTable | FailedTable) -> PlannedTable | FailedTable:
        """Return a table whose foreign keys form a cycle with others with a note about how they are loaded."""
        if not isinstance(result, PlannedTable) or not result.loads_with:
            return result
        with self._targets.session() as target:
            keys = target.foreign_keys([result.table.found.target_name])
        words, problem = self.pipeline.target.deferral(keys)
        others = ", ".join(sorted(result.loads_with - {result.key}))
        text = f"its foreign keys form a cycle with {others}: "
        if problem:
            notice = Notice(f"{text}new rows that refer to each other may be refused: {problem}", severity="warning")
            return replace(with_notice(result, notice), loads_with=frozenset())
        return with_notice(result, Notice(f"{text}all are loaded in one transaction, {words}"))

    def _source_schemas(self, tables: Sequence[ConfiguredTable]) -> dict[TableName, TableSchema]:
        schema = self.pipeline.source.default_schema
        with self._sources.session() as source:
            return source.table_schemas([table.source_table.within(schema) for table in tables])

    def _target_schemas(
        self, tables: Sequence[ConfiguredTable], trust_ledger: bool
    ) -> tuple[dict[TableName, TableSchema], bool]:
        database = self.pipeline.target
        ledger, schema = database.own_table("ledger"), database.default_schema
        with self._targets.session() as target:
            found = target.table_schemas([*(table.target_table.within(schema) for table in tables), ledger])
            has_ledger = found.pop(ledger, None) is not None and trust_ledger
            if has_ledger:
                Ledger(target).require_own()
        return found, has_ledger

    def _plan(
        self,
        settings: ConfiguredTable,
        schemas: _Schemas,
        ask: Ask,
        expect_rows: Callable[[], None],
        *,
        count_all: bool,
    ) -> PlannedTable | FailedTable:
        table: SyncTable | None = None
        state: TableState | None = None
        if self.pipeline.project.shows_values:
            settings = settings.model_copy(update={"shows_values": True})
        try:
            with self._sources.session() as source, self._targets.session() as target:
                table = resolve(settings, Catalogs(source, target, schemas.sources, schemas.targets))
                table = _counted(table, schemas, source, count_all=count_all)
                ledger = Ledger(target) if schemas.has_ledger else None
                place = self.pipeline.target_place
                sessions = Sessions(source, target, self.pipeline.lake, ledger, place, expect_rows, Notes(target).one)
                state = table.change.inspect(sessions, count_all=count_all)
                if table.load.keeps_rows_aside and ledger is not None and own_tables.exist(target):
                    state = replace(state, aside=Aside(target, settings.name).late_hashes())
        except TidegateError as problem:
            return FailedTable(settings.name, problem, table, state)
        return self.steps_of(table, state, ask)

    def steps_of(self, table: SyncTable, state: TableState, ask: Ask) -> PlannedTable | FailedTable:
        """Return the table with the steps that follow from its state."""
        settings = self.pipeline.project.tables[table.key]
        request = ask(table, state)  # wrong use is raised to whoever asked, not noted as this table's failure
        try:
            scope, steps = table.change.plan(state, request)
            restored = sorted(window for window, entry in state.ledger.items() if entry.kind == RESTORED)
            if restored and not (request.resume or request.reload_all):
                return _held(settings, table, state, scope, restored)
            _require_known_target(table, state, request, steps)
            _require_same_where(table, state, request)
            coverage = _with_where(table, table.change.coverage(state, scope))
            steps += [*coverage.notices(), *_nothing_copied(coverage, steps), *self._target_notes(settings, steps)]
            steps += [*self._refused_loads(table, state, steps), *note_for(table, state, request, steps)]
            table, prepared = self._prepared(table, steps)
        except TidegateError as problem:
            return FailedTable(settings.name, problem, table, state)
        found = table.found
        first: list[Step] = [found.schema_change] if found.schema_change and steps_move_rows(steps) else []
        first += [step for step in prepared if isinstance(step, ChangeSchema)]
        steps += [step for step in prepared if not isinstance(step, ChangeSchema)]
        labels, all_steps = table.change.labels, (*first, *steps, *found.notices)
        plan = TablePlan(settings.name, all_steps, scope, settings.kind, labels, found.columns)
        return PlannedTable(table, state, plan, coverage)

    def _target_notes(self, settings: ConfiguredTable, steps: Sequence[Step]) -> list[Step]:
        """Return what the target says about loads, and about its space for a large one. Raises Unsupported for a load
        that is larger than allowed."""
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
            notes: list[Step] = [Notice(remark) for remark in target.target_notes()]
            room = target.log_space() if largest >= LARGE_LOAD else ""
        return [*notes, Notice(f"{largest:,} rows come in one transaction; {room}")] if room else notes

    def _prepared(self, table: SyncTable, steps: Sequence[Step]) -> tuple[SyncTable, list[Step]]:
        """Return the table with a load that knows how the target takes these windows, and the steps of the load."""
        loads = [step for step in steps if isinstance(step, Load)]
        if not loads or table.found.target is None:
            return table, []
        with self._targets.session() as target:
            load, prepared = table.load.prepare(target, table.found.target_name, loads)
        return replace(table, load=load), prepared

    def _refused_loads(self, table: SyncTable, state: TableState, steps: Sequence[Step]) -> list[Step]:
        """Warn of loads that would lose values of columns that only the target has. The load itself refuses them, each
        value for itself: other values are not held up."""
        own, extracted = table.found.own_columns, {step.value for step in steps if isinstance(step, Extract)}
        if not own or table.found.own_key or not table.load.replaces_rows:
            return []
        warnings: list[Step] = []
        with self._targets.session() as target:
            for step in [step for step in steps if isinstance(step, Load) and step.value in state.target]:
                entry = state.lake.get(step.value) if step.value not in extracted else None
                lost = [column for column in own if entry is None or column.name not in entry.columns]
                rows = table.change.target_request(step.value).rows
                if lost and target.query(has_rows(table.found.target_name, has_any_value(lost, rows))) != [(0,)]:
                    text = f"{reason_without_key(lost)} them again: the load will be refused. {REMEDY}"
                    warnings.append(Notice(text, step.value, "warning"))
                if len(warnings) == MOST_WARNINGS:
                    break
        return warnings

    def close(self) -> None:
        self._sources.close()
        self._targets.close()


@contextmanager
def planning(pipeline: Pipeline) -> Iterator[Planner]:
    """Open a planner for as long as the block lasts."""
    planner = Planner(pipeline)
    try:
        yield planner
    finally:
        planner.close()


def _held(
    settings: ConfiguredTable, table: SyncTable, state: TableState, scope: Scope, restored: Sequence[Value]
) -> PlannedTable:
    """Return a table that a person restored to an earlier state: nothing of it moves until the person says so."""
    shown = ", ".join(map(str, restored[:MOST_WARNINGS]))
    text = f"{shown} was restored to an earlier state: no run changes this table until `tidegate run --resume`"
    steps = (Notice(text, severity="warning"),)
    plan = TablePlan(settings.name, steps, scope, settings.kind, table.change.labels, table.found.columns)
    return PlannedTable(table, state, plan, table.change.coverage(state, scope), is_held=True)


def _require_known_target(table: SyncTable, state: TableState, request: Request, steps: Sequence[Step]) -> None:
    """Raise ForeignTarget for loads over rows that were in the target before Tidegate came.

    Every change of Tidegate's asks this itself, with better words. A change of a plug-in may forget it. A change that
    read the target's content has compared it."""
    is_known = state.is_ours or bool(state.ledger) or state.target_receipt is not None
    if is_known or request.reload_all or table.found.settings.on_target_change == "restore":
        return
    held = [step.value for step in steps if isinstance(step, Load) and state.target.get(step.value, 0) != 0]
    if held:
        raise ForeignTarget(
            f"The target holds rows that no ledger knows, and {held[0]} would be loaded over them.",
            "Nothing was written.",
            "`tidegate adopt` takes them over; `tidegate run --reload` loads the table over them.",
        )


def _counted(table: SyncTable, schemas: _Schemas, source: Session, *, count_all: bool) -> SyncTable:
    """Return the table with what is counted in its source because of `where` and `invalid_values`."""
    settings = table.found.settings
    asks = settings.invalid_values or any(own.invalid_values for own in settings.columns.values())
    if not (settings.where or asks):
        return table
    name = settings.source_table.within(source.database.default_schema)
    found = counted(table.found, schemas.sources[name], source, count_all=count_all)
    return replace(table, found=found)


def _require_same_where(table: SyncTable, state: TableState, request: Request) -> None:
    """Raise ConfigError where rows were copied under another condition: they would stay beside the new ones."""
    known, where = state.scope_copies.known, table.found.settings.where or ""
    if known is None or not state.is_ours or known.where == where or request.reload_all:
        return
    before, now = (f"`where: {text}`" if text else "no `where`" for text in (known.where, where))
    raise ConfigError(
        f"{table.key}: its rows were copied with {before}, and the configuration has {now}.",
        "Nothing was read or written for this table.",
        f"`tidegate run --table {table.key} --reload` copies it anew; or write the former `where` again.",
    )


def _with_where(table: SyncTable, coverage: Coverage) -> Coverage:
    found = table.found
    return replace(coverage, where=found.settings.where or "", left_out=found.left_out)


def with_notice(planned: PlannedTable, notice: Notice) -> PlannedTable:
    return replace(planned, plan=replace(planned.plan, steps=(*planned.plan.steps, notice)))


def _nothing_copied(coverage: Coverage, steps: Sequence[Step]) -> list[Step]:
    """Return a warning for a source whose rows neither are in the target nor come with this plan."""
    is_said = coverage.is_empty and not steps_move_rows(steps)
    return [Notice(NOTHING_COPIED, severity="warning")] if is_said else []


def steps_move_rows(steps: Sequence[Step]) -> bool:
    """DDL waits until there are rows for it: an empty source creates no table."""
    return any(isinstance(step, (Extract, Load)) for step in steps)
