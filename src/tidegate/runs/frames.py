"""Versions from a DataFrame: landed in the lake as one batch, which the next run loads like every other."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.changes.mark import MarkEvidence, Window
from tidegate.errors import ConfigError, Unsupported, ValueProblem
from tidegate.model.columns import fingerprint
from tidegate.model.names import counted
from tidegate.model.values import Value
from tidegate.runs.executor import Places, new_run
from tidegate.runs.kinds.scd2.table import VersionTable
from tidegate.runs.planned import Planned, Unplanned

if TYPE_CHECKING:
    import pyarrow as pa

UNTOUCHED = "Nothing was written."


def land_versions(places: Places, key: str, frame: Any) -> Value:
    """The batch that was landed. `frame` is of Spark, of pandas, or an Arrow table; it has the source's columns."""
    with places.planner().open() as planner:
        one = planner.plan([key])[0]
    if isinstance(one, Unplanned):
        raise one.problem
    if not isinstance(one.table, VersionTable):
        raise Unsupported(f"{key}: only a table of versions takes rows from a DataFrame.", UNTOUCHED)
    return _land(places, one, one.table, _as_asked(one.table, _as_arrow(frame)))


def take_back(places: Places, key: str, batch: Value) -> None:
    """Rows that could not be loaded leave the lake, or every run to come would fail over them. Not those that the
    ledger knows after all, and none while nobody can look."""
    with places.planner().open() as planner:
        one = planner.plan([key])[0]
    if isinstance(one, Planned) and batch in one.evidence.lake and batch not in one.evidence.ledger:
        places.lake.remove(Path(one.evidence.lake[batch].path))


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
            "Hand in a DataFrame of Spark or pandas, or a pyarrow.Table.",
        ) from None


def _as_asked(table: VersionTable, frame: pa.Table) -> pa.Table:
    """In the source's columns, order and types. Raises where that would lose something."""
    import pyarrow as pa

    from tidegate.rows.arrow import arrow_schema

    wanted = arrow_schema(table.kept_columns)
    unlike = set(wanted.names) ^ set(frame.column_names)
    if unlike:
        raise ConfigError(
            f"{table.key}: the DataFrame and the source differ in the columns {', '.join(sorted(unlike))}.",
            UNTOUCHED,
            f"Give it exactly these: {', '.join(wanted.names)}.",
        )
    columns = []
    for field in wanted:
        try:
            columns.append(frame[field.name].cast(field.type))
        except pa.ArrowException as problem:
            raise ValueProblem(
                f"{table.key}: column {field.name} of the DataFrame does not fit {field.type}: {problem}.", UNTOUCHED
            ) from None
    rows = pa.table(columns, schema=wanted)
    _require_values(table, rows)
    return rows


def _require_values(table: VersionTable, rows: pa.Table) -> None:
    """What is in the lake is loaded by every run until that ends well: what cannot be loaded must not get there."""
    names = {*table.business_keys, *table.version_key, *((table.mark.name,) if table.mark is not None else ())}
    names |= {column.name for column in table.kept_columns if not table.in_target(column).nullable}
    missing = {name: rows[name].null_count for name in rows.column_names if name in names and rows[name].null_count}
    if missing:
        told = ", ".join(f"{name} ({counted(count, 'row')})" for name, count in missing.items())
        raise ValueProblem(
            f"{table.key}: the DataFrame has nulls where there must be a value: {told}.",
            UNTOUCHED,
            "Fill them in, or leave these rows out.",
        )


def _land(places: Places, one: Planned, table: VersionTable, rows: pa.Table) -> Value:
    from tidegate.lakes.parquet import FileWriter
    from tidegate.rows.hashing import receipt_of

    seen, run = one.evidence, new_run()
    assert isinstance(seen, MarkEvidence) and seen.next_batch is not None
    with places.source.connect("look", read_only=True) as session:
        now = session.now()
    receipt = receipt_of([rows])
    writer = FileWriter(places.lake.prepare(run) / "frame.parquet", rows.schema)
    for batch in rows.to_batches(max_chunksize=table.batch.rows):
        writer.write(batch)
    writer.close(
        {
            "table": str(table.lake_table),
            "column": table.lake_column,
            "value": seen.next_batch.text,
            "window": Window(_earliest(table, rows), None, None, is_given=True).to_json(),
            "run": run,
            "columns_id": fingerprint(table.kept_columns),
            "scope": one.plan.scope.to_json(),
            "why": "handed in",
            "read_at": now,
            "newest": None,
            "rows": receipt.rows,
            "hash": receipt.hash,
            "text_columns": [],
            "columns": [column.name for column in table.kept_columns],
            "storage_types": [column.rests_as for column in table.kept_columns],
            "unproven": False,
        }
    )
    places.lake.publish(writer.path, places.lake.scd_path(table.lake_table, seen.next_batch.text), "")
    places.lake.finish(run)
    return seen.next_batch


def _earliest(table: VersionTable, rows: pa.Table) -> Value | None:
    """The smallest mark; None where there is none, or where it cannot be told."""
    import pyarrow.compute as pc

    if table.mark is None:
        return None
    with suppress(ValueError):
        return Value.of(pc.min(rows[table.mark.name]).as_py(), table.marks_of)
    return None
