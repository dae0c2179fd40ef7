"""The catalog's description of a table, for people to read (`tidegate describe`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import pluralize


@dataclass(frozen=True)
class Section:
    """A titled list of rows under headings, or the reason why there are none."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()
    problem: str = ""
    """Why this login gets no answer."""


def describe_schema(schema: TableSchema) -> list[Section]:
    """Return the sections that every database has."""
    sections = [
        Section("columns", ("column", "type", "in the lake", ""), tuple(map(_column, schema.columns))),
        Section("keys and indexes", ("", "columns"), tuple(_keys(schema))),
        Section("relations and notes", ("", ""), tuple(_surroundings(schema))),
    ]
    return [section for section in sections if section.rows]


def _column(column: Column) -> tuple[str, ...]:
    attributes = {
        "not null": not column.nullable,
        "identity": column.identity,
        "generated": column.generated,
        "has a default": column.has_default and not column.identity,
        f"collation {column.collation}": column.collation not in column.type,
        f"cannot be read: {column.unreadable}": bool(column.unreadable),
    }
    return (
        column.name,
        column.type,
        column.storage_type,
        ", ".join(text for text, is_set in attributes.items() if is_set),
    )


def _keys(schema: TableSchema) -> Iterator[tuple[str, str]]:
    primary = [("primary key", schema.primary_key)] if schema.primary_key else []
    unique = [("unique", key) for key in schema.unique_keys]
    others = [("index", index) for index in schema.indexes if index not in (schema.primary_key, *schema.unique_keys)]
    for kind, columns in (*primary, *unique, *others):
        yield kind, ", ".join(columns)


def _surroundings(schema: TableSchema) -> Iterator[tuple[str, str]]:
    if schema.row_estimate:
        yield "rows", f"about {pluralize(schema.row_estimate, 'row')}"
    if schema.partitioned_by:
        yield "partitioned by", schema.partitioned_by
    named = {
        "trigger": schema.triggers,
        "refers to": schema.references,
        "referred to by": schema.referenced_by,
        "as a source": (*schema.source_warnings, *schema.source_notes),
        "as a target": schema.target_notes,
    }
    for label, texts in named.items():
        for text in texts:
            yield label, text
