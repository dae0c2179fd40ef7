"""A table as its catalog describes it, for people to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidegate.model.columns import Column, Shape
from tidegate.model.names import counted


@dataclass(frozen=True)
class Section:
    """Some rows under headings; or why there are none."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()
    problem: str = ""
    """Why this login is not told."""


def described(shape: Shape) -> list[Section]:
    """What every database tells of a table."""
    sections = [
        Section("columns", ("column", "type", "in the lake", ""), tuple(map(_column, shape.columns))),
        Section("keys and indexes", ("", "columns"), tuple(_keys(shape))),
        Section("around it", ("", ""), tuple(_around(shape))),
    ]
    return [section for section in sections if section.rows]


def _column(column: Column) -> tuple[str, ...]:
    told = {
        "not null": not column.nullable,
        "counts by itself": column.identity,
        "generated": column.generated,
        "has a default": column.has_default and not column.identity,
        f"collation {column.collation}": column.collation not in column.type,
        f"cannot be read: {column.unreadable}": bool(column.unreadable),
    }
    return column.name, column.type, column.rests_as, ", ".join(text for text, is_so in told.items() if is_so)


def _keys(shape: Shape) -> Iterator[tuple[str, str]]:
    primary = [("primary key", shape.primary_key)] if shape.primary_key else []
    unique = [("unique", key) for key in shape.unique_keys]
    others = [("index", index) for index in shape.indexes if index not in (shape.primary_key, *shape.unique_keys)]
    for kind, columns in (*primary, *unique, *others):
        yield kind, ", ".join(columns)


def _around(shape: Shape) -> Iterator[tuple[str, str]]:
    if shape.row_estimate:
        yield "rows", f"about {counted(shape.row_estimate, 'row')}"
    if shape.partitioned_by:
        yield "partitioned by", shape.partitioned_by
    named = {
        "trigger": shape.triggers,
        "refers to": shape.references,
        "referred to by": shape.referenced_by,
        "whoever reads it": (*shape.cautions, *shape.unseen),
        "whoever loads it": shape.remarks,
    }
    for label, texts in named.items():
        for text in texts:
            yield label, text
