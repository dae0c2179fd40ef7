"""Rows that left the source stay in the target, with a mark: a column of the target, which the source does not have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate.errors import ConfigError, MissingObject, Unsupported
from tidegate.model.columns import Column
from tidegate.model.types import Type
from tidegate.sql.text import Literal, Name, Sql, sql
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable


def is_gone(mark: Column) -> Sql:
    """Return the condition for rows that are marked as gone. A row without a mark is there."""
    yes = Literal("1", mark.type)
    return sql("{mark} IS NOT NULL AND {mark} = {yes}", mark=Name.of(mark.name), yes=yes)


def with_mark(settings: Any, table: FoundTable, catalogs: Catalogs) -> tuple[Column | None, FoundTable]:
    """Return the column that marks rows as gone, and the table, whose rows with a mark count as not there.

    A table that is created here gets the column. Raises ConfigError, MissingObject or Unsupported, with what to do."""
    name = settings.soft_delete
    if name is None:
        return None, table
    if settings.deletes == "ignore":
        raise ConfigError(
            f"{settings.name}: `soft_delete: {name}` marks rows that left, and nothing looks for them.",
            UNTOUCHED,
            "Add `deletes: key_compare`, or with a change feed `deletes: feed`.",
        )
    if table.source.column(name) is not None:
        raise ConfigError(
            f"{settings.name}: the source has a column {name} of its own.",
            UNTOUCHED,
            "Name another column as `soft_delete`.",
        )
    database, truth = catalogs.target.database, Type("bool")
    declared = database.declare(Column(name, str(truth), truth.storage_type, logical_type=truth))
    if table.target is not None:
        mark = _of_target(settings, table, name, database.render(database.add_column(table.target_name, declared)))
        return mark, replace(table, gone=is_gone(mark))
    change = table.schema_change
    assert change is not None, "a table that is not there is created"
    statement = database.render(database.add_column(table.target_name, declared))
    change = replace(change, statements=(*change.statements, statement))
    return declared, replace(table, schema_change=change, gone=is_gone(declared))


def _of_target(settings: Any, table: FoundTable, name: str, ddl: str) -> Column:
    assert table.target is not None
    mark = table.target.exact_column(name)
    if mark is None:
        raise MissingObject(
            f"{settings.name}: {table.target_name} has no column {name} to mark rows that left the source.",
            UNTOUCHED,
            f"Add it: {ddl}",
        )
    if mark.storage_type != "bool" and not mark.logical_type.is_integer:
        raise Unsupported(
            f"{settings.name}: {name} is {mark.type}, which says neither yes nor no.",
            UNTOUCHED,
            "Name a column of a truth or of whole numbers as `soft_delete`.",
        )
    return mark
