"""Columns that the settings make text after a run created them in another type.

A load that a value refuses leaves a new table empty: a zero date, for instance, in a column of dates. The settings then
say what becomes of such values, and nobody has to alter the table by hand.
"""

from __future__ import annotations

from tidegate.interfaces.session import Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.settings import TableSettings
from tidegate.sql.contents import has_rows


def to_retype(
    settings: TableSettings,
    source: TableSchema,
    target: TableSchema | None,
    catalog: TableSchema | None,
    session: Session,
) -> frozenset[str]:
    """Return the columns of an empty target that become text. `catalog` is the table as the source has it.

    Only a column that still has the type that Tidegate would give it changes: any other belongs to somebody else."""
    if target is None or catalog is None:
        return frozenset()
    before = {own.name or name: name for name, own in settings.columns.items()}
    found = frozenset(
        column.name
        for column in source.columns
        if (original := catalog.column(before.get(column.name, column.name))) is not None
        and _becomes_text(column, original, target, session)
    )
    return found if found and _is_empty(session, target.name) else frozenset()


def _becomes_text(column: Column, original: Column, target: TableSchema, session: Session) -> bool:
    twin = target.exact_column(column.name)
    if twin is None or column.logical_type.family != "string" or twin.logical_type.family == "string":
        return False
    in_key = any(column.name in key for key in (target.primary_key, *target.unique_keys, *target.indexes))
    declared = session.database.declare(original)
    return not in_key and declared.type == twin.declared_type and session.database.declare(column).type != twin.type


def _is_empty(session: Session, table: TableName) -> bool:
    return not int(str(session.query(has_rows(table))[0][0]))
