"""Columns of versions that the load generates: where a version begins, where it ends, and which one is current."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tidegate.errors import DriftStop, Unsupported
from tidegate.interfaces.load import Requirements
from tidegate.model.columns import Column, TableSchema
from tidegate.model.types import Type
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable, spelled_like

DEFAULT_GENERATED_FLAG, DEFAULT_END = "is_current", "end_date"


@dataclass(frozen=True)
class Scd2Requirements(Requirements):
    """What the versions of a table are made of."""

    start: Column | None = None
    """Where a version begins: the cursor, or a generated column."""
    flag: Column | None = None
    end: Column | None = None
    version_key: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    tombstone: str | None = None


def generated_columns(settings: Any, cursor: Column | None) -> tuple[Column, Column, Column]:
    """Start, end and flag. A start is of the cursor's type, else a time in UTC."""
    moment = Type("timestamp", 6)
    begin = cursor or Column("", str(moment), moment.storage_type, logical_type=moment)
    begin = replace(begin, identity=False, generated=False, has_default=False)
    truth = Type("bool")
    return (
        replace(begin, name=settings.start_column, nullable=False),
        replace(begin, name=settings.end_column or DEFAULT_END, nullable=True),
        Column(
            settings.flag_column or DEFAULT_GENERATED_FLAG,
            str(truth),
            truth.storage_type,
            nullable=False,
            logical_type=truth,
        ),
    )


def with_generated_columns(
    settings: Any, source: TableSchema, generated: tuple[Column, ...], keys: tuple[str, ...], catalogs: Catalogs
) -> TableSchema:
    """The source as if it had versions. A target that is there must have the columns for them: none is added."""
    target = catalogs.targets.get(settings.target_table.within(catalogs.target.database.default_schema))
    if target is not None:
        as_is = replace(source, columns=(*source.columns, *generated))
        target = spelled_like(target, as_is, catalogs.target.database)
    missing = [] if target is None else [one.name for one in generated if target.exact_column(one.name) is None]
    taken = [one.name for one in generated if source.column(one.name) is not None]
    if missing or taken:
        what = f"the target has no column {', '.join(missing)}" if missing else f"the source has {', '.join(taken)}"
        raise DriftStop(
            f"{settings.name}: {what}, which versions are made with.",
            UNTOUCHED,
            "Name other columns as `start_column`, `end_column` and `flag_column`, or add them to the target.",
        )
    return replace(
        source,
        columns=(*source.columns, *generated),
        primary_key=(*keys, generated[0].name),
        unique_keys=(),
        indexes=(),
    )


def with_surrogate_key(settings: Any, table: FoundTable, catalogs: Catalogs) -> FoundTable:
    """A table that is created here numbers its versions, where that is asked for."""
    change = table.schema_change
    if settings.surrogate_key is None or table.target is not None or change is None:
        return table
    database = catalogs.target.database
    numbered = database.numbered(change.statements, table.target_name, settings.surrogate_key)
    return replace(table, schema_change=replace(change, statements=numbered))


def require_copied(settings: Any, table: FoundTable, known: set[str]) -> None:
    missing = known - {column.name for column in table.columns}
    if missing:
        raise Unsupported(
            f"{settings.name}: the target computes {', '.join(sorted(missing))}, which versions are known by.",
            UNTOUCHED,
            "Make it an ordinary column in the target, or load into another table with `target_table`.",
        )
