"""Types that users created: enums, domains, composites. A target of the same kind may lack them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.model.columns import Column, TableSchema
from tidegate.settings import TableSettings
from tidegate.tables.found import Catalogs, FoundTable


def with_known_types(settings: TableSettings, source: TableSchema, catalogs: Catalogs) -> TableSchema:
    """Return the source's schema with columns whose type the target lacks as columns of no database: the target gets
    them in the portable type, as another kind of database would."""
    database = catalogs.target.database
    target = catalogs.targets.get(settings.target_table.within(database.default_schema))
    source = _with_domains(settings, source, target, catalogs)
    of_users = [column for column in source.columns if _is_of_users(column, database.kind)]
    twins = {column.name: target.exact_column(column.name) if target is not None else None for column in of_users}
    asked = {column.declared_type for column in of_users if twins[column.name] is None}
    unknown = catalogs.target.unknown_types(sorted(asked)) if asked else set()
    if settings.create.types and unknown:
        # The DDL creates them (`resolve`).
        unknown -= {name for name in unknown if types_ddl(catalogs, [name])}
    portable = {
        column.name
        for column in of_users
        if (column.declared_type in unknown if (twin := twins[column.name]) is None else _is_text(twin))
    }
    columns = tuple(
        replace(column, database="", collation="") if column.name in portable else column for column in source.columns
    )
    return replace(source, columns=columns)


def _with_domains(
    settings: TableSettings, source: TableSchema, target: TableSchema | None, catalogs: Catalogs
) -> TableSchema:
    """Return the schema with new columns in the domain that they have in the source, where types are created too.

    Without that a column gets the type that its domain is made of: the values are the same."""
    if not settings.create.types or catalogs.source.database.kind != catalogs.target.database.kind:
        return source
    new = [column for column in source.columns if target is None or target.exact_column(column.name) is None]
    asked = sorted({column.type for column in new if column.portable_type and column.database})
    known = catalogs.source.type_definitions(asked) if asked else {}
    domains = {column.name for column in new if column.portable_type and column.type in known}
    columns = (replace(one, portable_type="") if one.name in domains else one for one in source.columns)
    return replace(source, columns=tuple(columns))


def _is_text(column: Column) -> bool:
    """Return whether a column of the target holds values of such a type as text: an earlier run created it so."""
    return column.logical_type.family == "string"


def types_ddl(catalogs: Catalogs, names: Sequence[str]) -> list[str]:
    """Return the DDL of types of the source, as the target lacks them."""
    if catalogs.source.database.kind != catalogs.target.database.kind:
        return []
    definitions = catalogs.source.type_definitions(names)
    lacking = catalogs.target.unknown_types([name for name in definitions if not name.startswith("schema ")])
    schemas = [ddl for name, ddl in definitions.items() if name.startswith("schema ")]
    types = [ddl for name, ddl in definitions.items() if name in lacking]
    return [*schemas, *types] if types else []


def with_types(table: FoundTable, catalogs: Catalogs) -> FoundTable:
    """Return the table with the DDL of types that its new columns need, before that of the columns."""
    if not table.settings.create.types or table.schema_change is None:
        return table
    there = {column.name for column in table.target.columns} if table.target is not None else set()
    new = [column for column in table.columns if column.name not in there]
    names = sorted({column.declared_type for column in new if column.database == catalogs.target.database.kind})
    statements = types_ddl(catalogs, names) if names else []
    change = replace(table.schema_change, statements=(*statements, *table.schema_change.statements))
    return replace(table, schema_change=change)


def _is_of_users(column: Column, kind: str) -> bool:
    return column.database == kind and column.logical_type.family in ("enum", "local")
