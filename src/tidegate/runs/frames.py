"""Rows from a DataFrame: committed to the lake as one window, which the next run loads like every other."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError, ValueProblem
from tidegate.interfaces.lake import EntryFacts
from tidegate.model.columns import fingerprint
from tidegate.model.names import pluralize
from tidegate.model.values import Value
from tidegate.runs.plan import planning
from tidegate.runs.run import Run
from tidegate.tables.planned import FailedTable, PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa

UNTOUCHED = "Nothing was written."


def extract_frame(run: Run, key: str, frame: Any) -> Value:
    """Commit the rows to the lake and return their window. `frame` is of Spark, of pandas, or an Arrow table, and has
    the source's columns."""
    with planning(run.pipeline) as planner:
        planned = planner.plan([key])[0]
    if isinstance(planned, FailedTable):
        raise planned.problem
    filled = planned.table.change.columns_with_values
    return _commit(run, planned, _in_source_columns(planned, _as_arrow(frame), filled))


def take_back(run: Run, key: str, window: Value) -> None:
    """Remove rows that could not be loaded from the lake, or every later run would fail over them. Rows that the ledger
    knows stay, and all of them stay while the table cannot be inspected."""
    with planning(run.pipeline) as planner:
        planned = planner.plan([key])[0]
    if isinstance(planned, PlannedTable) and window in planned.state.lake and window not in planned.state.ledger:
        run.pipeline.lake.drop(planned.table.lake_table, window.text)


def _as_arrow(frame: Any) -> pa.Table:
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (AttributeError, TypeError):
        raise ConfigError(
            f"Rows cannot be taken from {type(frame).__name__}.",
            UNTOUCHED,
            "Pass a DataFrame of Spark or pandas, or a pyarrow.Table.",
        ) from None


def _in_source_columns(planned: PlannedTable, frame: pa.Table, filled: Collection[str]) -> pa.Table:
    """Return the rows in the source's columns, order and types. Raises where that would lose something."""
    import pyarrow as pa

    from tidegate.hashing.arrow import arrow_schema

    wanted = arrow_schema(planned.table.found.extracted_columns)
    unlike = set(wanted.names) ^ set(frame.column_names)
    if unlike:
        raise ConfigError(
            f"{planned.key}: the DataFrame and the source differ in the columns {', '.join(sorted(unlike))}.",
            UNTOUCHED,
            f"Give it exactly these: {', '.join(wanted.names)}.",
        )
    columns = []
    for field in wanted:
        try:
            columns.append(frame[field.name].cast(field.type))
        except pa.ArrowException as problem:
            raise ValueProblem(
                f"{planned.key}: column {field.name} of the DataFrame does not fit {field.type}: {problem}.", UNTOUCHED
            ) from None
    rows = pa.table(columns, schema=wanted)
    _require_values(planned, rows, filled)
    return rows


def _require_values(planned: PlannedTable, rows: pa.Table, filled: Collection[str]) -> None:
    """Raise ValueProblem for nulls that no load takes: every run would try to load them again."""
    found, names = planned.table.found, {*planned.table.load.needs.keys, *filled}
    names |= {column.name for column in found.extracted_columns if not found.in_target(column).nullable}
    missing = {name: rows[name].null_count for name in rows.column_names if name in names and rows[name].null_count}
    if missing:
        missing_in = ", ".join(f"{name} ({pluralize(count, 'row')})" for name, count in missing.items())
        raise ValueProblem(
            f"{planned.key}: the DataFrame has nulls where there must be a value: {missing_in}.",
            UNTOUCHED,
            "Fill them in, or leave these rows out.",
        )


def _commit(run: Run, planned: PlannedTable, rows: pa.Table) -> Value:
    import pyarrow.compute as pc

    from tidegate.hashing.rows import receipt_of

    table, lake = planned.table, run.pipeline.lake
    with run.pipeline.source.connect("inspect", read_only=True) as session:
        now = session.now()
    window, token = table.change.given_window(planned.state, lambda name: pc.min(rows[name]).as_py(), now)
    receipt, columns = receipt_of([rows]), table.found.extracted_columns
    lake.begin(run.id)
    writer = lake.writer(table.lake_table, run.id, "frame", rows.schema)
    for batch in rows.to_batches(max_chunksize=table.found.batch.rows):
        writer.write(batch)
    part = writer.close(
        EntryFacts(
            window=window.text,
            rows=receipt.rows,
            hash=receipt.hash,
            columns=tuple(column.name for column in columns),
            columns_id=fingerprint(columns),
            storage_types=tuple(column.storage_type for column in columns),
            text_columns=(),
            token=token,
            run=run.id,
            why="passed in as a DataFrame",
            read_at=now,
            scope=planned.plan.scope.to_json(),
        )
    )
    lake.commit(table.lake_table, window.text, [part])
    lake.end(run.id)
    return window
