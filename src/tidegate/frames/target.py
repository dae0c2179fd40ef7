"""The table that a frame is loaded into: found or created, with a column for every column of the frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.errors import ConfigError, DriftStop
from tidegate.frames.carried import UNTOUCHED, storage_type_of
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.model.types import Type

if TYPE_CHECKING:
    import pyarrow as pa

KEY_CHARACTERS = 255
"""How long a text in the key of a table that is created here may be: no server has a key over texts without a bound."""
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_TYPES = {"timestamp": Type("timestamp", 6), "timestamptz": Type("instant", 6), "time": Type("time", 6)}


@dataclass(frozen=True)
class Target:
    """A table and the columns that a frame brings, in the order of the frame."""

    name: TableName
    columns: tuple[Column, ...]
    added: tuple[str, ...] = ()
    """What was created for this frame: the table, or columns of it."""

    def named(self, names: Sequence[str]) -> list[Column]:
        """Return columns by name. Raises ConfigError for one that the frame does not have."""
        by_name = {column.name.lower(): column for column in self.columns}
        missing = [name for name in names if name.lower() not in by_name]
        if missing:
            raise ConfigError(
                f"{self.name}: the frame has no column {', '.join(missing)}.",
                UNTOUCHED,
                f"Its columns: {', '.join(column.name for column in self.columns)}.",
            )
        return [by_name[name.lower()] for name in names]


def is_padded(column: Column) -> bool:
    """Return whether the column pads its texts with blanks, which then are no part of a value."""
    read_as = column.read_as
    return column.logical_type.family == "char" and read_as is not None and read_as.family == "trimmed"


def prepare(session: Session, table: str, schema: pa.Schema, keys: Sequence[str]) -> Target:
    """Return the target of a frame with this schema. Creates the table, or columns that it lacks, where needed."""
    database = session.database
    name = TableName.parse(table).within(database.default_schema)
    given = [frame_column(field, is_key=field.name in keys) for field in schema]
    _require_names(session, name, [column.name for column in given])
    Target(name, tuple(given)).named(keys)
    found = session.table_schemas([name]).get(name)
    if found is None:
        columns = [database.declare(column) for column in given]
        with session.transaction():
            for statement in database.create_table(name, columns, keys, ""):
                session.execute(statement)
        return Target(name, tuple(columns), (str(name),))
    columns = [_column_of(session, found, column) for column in given]
    missing = [column for column in columns if found.column(column.name) is None]
    with session.transaction():
        for column in missing:
            session.execute(database.add_column(found.name, column))
    return Target(found.name, tuple(columns), tuple(f"{name}.{column.name}" for column in missing))


def frame_column(field: pa.Field, *, is_key: bool = False) -> Column:
    """Return a column of a frame in words of no database."""
    storage_type = storage_type_of(field)
    decimal = _DECIMAL.fullmatch(storage_type)
    kind = Type("decimal", int(decimal[1]), int(decimal[2])) if decimal else _TYPES.get(storage_type)
    if kind is None:
        kind = Type("string", KEY_CHARACTERS) if is_key and storage_type == "string" else Type(storage_type)
    return Column(field.name, str(kind), storage_type, nullable=not is_key, logical_type=kind)


def _column_of(session: Session, found: TableSchema, given: Column) -> Column:
    """Return the column of the table for a column of the frame: as it is there, or as it is to be added."""
    database = session.database
    there = found.column(given.name)
    if there is None:
        return replace(database.declare(given), nullable=True)
    if there.generated:
        raise DriftStop(
            f"{found.name}: the table computes {there.name} by itself.",
            UNTOUCHED,
            f"Leave {there.name} out of the frame.",
        )
    if database.fits(given, there) in ("same", "wider"):
        return there.read_like(given)
    if there.logical_type.family == "char" and given.storage_type == "string":
        # A padded column gives its values back with blanks that the frame does not have.
        return there.read_like(replace(given, logical_type=Type("trimmed", there.logical_type.size)))
    return there


def _require_names(session: Session, table: TableName, names: Sequence[str]) -> None:
    problems = session.database.invalid_names(names)
    if problems:
        name, why = next(iter(problems.items()))
        raise ConfigError(f"{table}: the column name {name!r} is {why}.", UNTOUCHED, "Rename the column of the frame.")
