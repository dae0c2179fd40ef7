"""All that the catalogs of both sides tell of a table. Nothing is written, and no row is read."""

from __future__ import annotations

from tidegate.interfaces import Database
from tidegate.model.description import Section
from tidegate.model.names import TableName
from tidegate.runs.executor import Places
from tidegate.runs.together import both


def describe(places: Places, key: str) -> dict[str, list[Section]]:
    """For each side its sections; none of a table that is not there, or that the login may not see."""
    settings = places.project.tables[key]
    source, target = both(
        lambda: _sections(places.source, settings.source_table), lambda: _sections(places.target, settings.target_table)
    )
    return {"source": source, "target": target}


def _sections(database: Database, name: TableName) -> list[Section]:
    with database.connect("describe", read_only=True) as session:
        found = session.shapes([name.within(database.default_schema)])
        return [section for shape in found.values() for section in session.describe(shape)]
