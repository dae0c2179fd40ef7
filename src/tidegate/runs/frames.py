"""Rows from a DataFrame: committed to the lake as one window, which the next run loads like every other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError, Unsupported, ValueProblem
from tidegate.frames.given import GivenRows
from tidegate.interfaces.change import AnyChange
from tidegate.interfaces.lake import EntryFacts
from tidegate.model.columns import Column, fingerprint
from tidegate.model.names import pluralize
from tidegate.model.tokens import CursorWindow
from tidegate.model.values import Value
from tidegate.runs.plan import planning
from tidegate.runs.run import Run
from tidegate.tables.planned import FailedTable, PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa


UNTOUCHED = "Nothing was written."


def extract_frame(run: Run, key: str, frame: Any) -> Value | None:
    """Commit the rows to the lake and return their window; None where there are no rows. The frame has the source's
    columns."""
    with planning(run.pipeline) as planner:
        planned = planner.plan([key])[0]
    if isinstance(planned, FailedTable):
        raise planned.problem
    change = planned.table.change
    if planned.table.transform is not None:
        raise Unsupported(
            f"{key}: the table has a `transform`, and rows from a program do not go through it.",
            UNTOUCHED,
            "Transform them in your program, and load them into a table without `transform`.",
        )
    change.given_token(None, None, "")  # refuses a table that takes none, before anything is read
    write = GivenRows()
    _require_columns(planned, write.names(frame))
    lake, table = run.pipeline.lake, planned.table.lake_table
    window: Value = planned.state.next_window  # type: ignore[attr-defined]  # of every state of a log
    lake.begin(run.id)
    try:
        with run.pipeline.source.connect("inspect", read_only=True) as session:
            now = session.now()
        facts = _facts(run, planned, window, now)
        schema = _schema(planned)
        prepared = lake.prepared(table, schema)
        written = write(frame, prepared, table, schema, facts, change.given_token, _cursor(change))
        _require_values(planned, written.nulls)
        if not written.receipt.rows:
            return None
        lake.commit(table, window.text, written.parts, facts=written.in_facts(facts, change.given_token))
    finally:
        lake.end(run.id)
    return window


def take_back(run: Run, key: str, window: Value) -> None:
    """Remove rows that could not be loaded from the lake, or every later run would fail over them. Rows that the ledger
    knows stay, and all of them stay while the table cannot be inspected."""
    with planning(run.pipeline) as planner:
        planned = planner.plan([key])[0]
    if isinstance(planned, PlannedTable) and window in planned.state.lake and window not in planned.state.ledger:
        run.pipeline.lake.drop(planned.table.lake_table, window.text)


def _schema(planned: PlannedTable) -> pa.Schema:
    from tidegate.hashing.arrow import arrow_schema

    return arrow_schema(planned.table.found.extracted_columns)


def _cursor(change: AnyChange) -> str | None:
    """Return the column whose values tell where the rows of a frame lie; None where there is no single one."""
    cursor: Any = getattr(change, "cursor", None)
    if cursor is None or not getattr(cursor, "is_extracted", True):
        return None
    columns = [cursor] if isinstance(cursor, Column) else cursor.columns
    return columns[0].name if len(columns) == 1 else None


def _require_columns(planned: PlannedTable, given: list[str]) -> None:
    wanted = [column.name for column in planned.table.found.extracted_columns]
    unlike = set(wanted) ^ set(given)
    if unlike:
        raise ConfigError(
            f"{planned.key}: the DataFrame and the source differ in the columns {', '.join(sorted(unlike))}.",
            UNTOUCHED,
            f"Give it exactly these: {', '.join(wanted)}.",
        )


def _require_values(planned: PlannedTable, nulls: dict[str, int]) -> None:
    """Raise ValueProblem for nulls that no load takes: every run would try to load them again."""
    found, change = planned.table.found, planned.table.change
    names = {*planned.table.load.needs.keys, _cursor(change)}
    names |= {column.name for column in found.extracted_columns if not found.in_target(column).nullable}
    missing = {name: count for name, count in nulls.items() if name in names and count}
    if missing:
        missing_in = ", ".join(f"{name} ({pluralize(count, 'row')})" for name, count in missing.items())
        raise ValueProblem(
            f"{planned.key}: the DataFrame has nulls where there must be a value: {missing_in}.",
            UNTOUCHED,
            "Fill them in, or leave these rows out.",
        )


def _facts(run: Run, planned: PlannedTable, window: Value, now: str) -> EntryFacts:
    columns = planned.table.found.extracted_columns
    return EntryFacts(
        window=window.text,
        rows=0,
        hash="",
        columns=tuple(column.name for column in columns),
        columns_id=fingerprint(columns),
        storage_types=tuple(column.storage_type for column in columns),
        text_columns=(),
        token=CursorWindow(read_at=now, is_given=True),
        run=run.id,
        why="passed in as a DataFrame",
        read_at=now,
        scope=planned.plan.scope.to_json(),
    )
