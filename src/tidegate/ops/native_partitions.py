"""Native partitions of a table of the project, looked at and changed by hand, outside of a run."""

from __future__ import annotations

from tidegate.interfaces.session import Session
from tidegate.model.columns import TableSchema
from tidegate.model.native import PartitionLayout
from tidegate.runs.run import Pipeline


def layout_of(pipeline: Pipeline, key: str, side: str) -> PartitionLayout | None:
    """Return how the server of `source` or `target` partitions a table; None if it does not."""
    settings = pipeline.project.tables[key]
    database, name = (
        (pipeline.source, settings.source_table) if side == "source" else (pipeline.target, settings.target_table)
    )
    with database.connect("inspect", read_only=True) as session:
        found = session.table_schemas([name.within(database.default_schema)])
        return next((layout_in(session, schema) for schema in found.values()), None)


def layout_in(session: Session, schema: TableSchema) -> PartitionLayout | None:
    """Return the layout with its values in the order of the column that decides."""
    native = session.native_partitions
    if native is None or not schema.partitioned_by:
        return None
    layout = native.layout(schema.name, None)
    column = schema.column(layout.column) if layout and layout.column else None
    return layout if column is None else native.layout(schema.name, session.database.value_kind(column))
