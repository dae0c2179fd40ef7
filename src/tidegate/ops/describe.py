"""Describe a table by the catalogs of source and target. Reads no rows."""

from __future__ import annotations

from tidegate.interfaces.change import Sessions
from tidegate.interfaces.database import Database
from tidegate.interfaces.session import Session
from tidegate.model.columns import TableSchema
from tidegate.model.description import Section
from tidegate.model.names import TableName
from tidegate.model.native import layout_rows
from tidegate.ops.native_partitions import layout_in
from tidegate.runs.run import Pipeline


def describe(pipeline: Pipeline, key: str) -> dict[str, list[Section]]:
    """Return the sections of each side; none for a table that does not exist, or that the login may not see."""
    settings = pipeline.project.tables[key]
    source, target = Sessions.both(
        lambda: _sections(pipeline.source, settings.source_table),
        lambda: _sections(pipeline.target, settings.target_table),
    )
    return {"source": source, "target": target}


def _sections(database: Database, name: TableName) -> list[Section]:
    with database.connect("describe", read_only=True) as session:
        found = session.table_schemas([name.within(database.default_schema)])
        return [
            section
            for schema in found.values()
            for section in (*session.describe(schema), *_partitions(session, schema))
        ]


def _partitions(session: Session, schema: TableSchema) -> list[Section]:
    """Return the native partitions as a section; none for a table without partitions."""
    layout = layout_in(session, schema)
    if layout is None:
        return []
    by = f" by {layout.method} of {layout.column}" if layout.column else ""
    headings = ("partition", "name", "range", "rows, about", "lies in", "")
    return [Section(f"native partitions{by}", headings, tuple(layout_rows(layout)))]
