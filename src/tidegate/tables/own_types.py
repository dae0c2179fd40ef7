"""Types that users created: enums, composites, types of an extension. A target of the same kind may lack them."""

from __future__ import annotations

from dataclasses import replace

from tidegate.model.columns import Column, TableSchema
from tidegate.settings import TableSettings
from tidegate.tables.found import Catalogs


def with_known_types(settings: TableSettings, source: TableSchema, catalogs: Catalogs) -> TableSchema:
    """Return the source's schema with columns whose type the target lacks as columns of no database: the target gets
    them in the portable type, as another kind of database would."""
    database = catalogs.target.database
    target = catalogs.targets.get(settings.target_table.within(database.default_schema))
    of_users = [column for column in source.columns if _is_of_users(column, database.kind)]
    twins = {column.name: target.exact_column(column.name) if target is not None else None for column in of_users}
    asked = {column.declared_type for column in of_users if twins[column.name] is None}
    unknown = catalogs.target.unknown_types(sorted(asked)) if asked else set()
    portable = {
        column.name
        for column in of_users
        if (column.declared_type in unknown if (twin := twins[column.name]) is None else _is_text(twin))
    }
    columns = tuple(
        replace(column, database="", collation="") if column.name in portable else column for column in source.columns
    )
    return replace(source, columns=columns)


def _is_text(column: Column) -> bool:
    """Return whether a column of the target holds values of such a type as text: an earlier run created it so."""
    return column.logical_type.family == "string"


def _is_of_users(column: Column, kind: str) -> bool:
    return column.database == kind and column.logical_type.family in ("enum", "local")
