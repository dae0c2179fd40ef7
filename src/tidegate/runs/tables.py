"""A configured table, found in both catalogs: which columns travel, and what is done with what differs."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from typing_extensions import Self

from tidegate.config.tables import Table
from tidegate.errors import ConfigError, MissingObject
from tidegate.interfaces import BatchSize, Database, ReadRequest, Session
from tidegate.model.columns import Column, Shape, fingerprint
from tidegate.model.evidence import LedgerEntry, types_when_extracted
from tidegate.model.names import TableName
from tidegate.model.plan import ChangeSchema, Notice
from tidegate.model.types import Type
from tidegate.model.values import Value
from tidegate.runs.drift import compare
from tidegate.sql.text import Sql

UNTOUCHED = "Nothing was read or written for this table."


@dataclass(frozen=True)
class Catalogs:
    """What both catalogs say of the tables of a project, with the sessions that asked them."""

    source: Session
    target: Session
    sources: dict[TableName, Shape]
    targets: dict[TableName, Shape]


@dataclass(frozen=True)
class FoundTable:
    """All names settled. `target` is None while the target table does not exist."""

    key: str
    common: Table
    """The settings, of whatever kind."""
    source: Shape
    target: Shape | None
    target_name: TableName
    columns: tuple[Column, ...]
    target_columns: tuple[Column, ...]
    """The same columns in the target, as they will be when the plan's DDL is done; each reads what the source's has."""
    schema_change: ChangeSchema | None
    notices: tuple[Notice, ...]
    lake_table: TableName
    ledger_name: str
    """The target as it is configured, for lock and ledger alike; the server may spell it otherwise."""

    def in_target(self, column: Column) -> Column:
        """The target's column of the same name."""
        return next(one for one in self.target_columns if one.name == column.name)


@dataclass(frozen=True)
class ResolvedTable(FoundTable, ABC):
    """A table that was found, with what its kind knows of it besides."""

    @classmethod
    def of(cls, found: FoundTable, **own: Any) -> Self:
        return cls(**{field.name: getattr(found, field.name) for field in fields(FoundTable)}, **own)

    @property
    @abstractmethod
    def lake_column(self) -> str:
        """What the files of a value are known by, besides their table."""

    @property
    @abstractmethod
    def windows(self) -> str:
        """By what the rows are divided, for people."""

    @property
    @abstractmethod
    def row_keys(self) -> tuple[str, ...]:
        """What names a row, where settings or a key say so."""

    @abstractmethod
    def value(self, text: object) -> Value:
        """A user's spelling of a value. Raises ConfigError."""

    @abstractmethod
    def source_request(self, value: Value) -> ReadRequest: ...

    @abstractmethod
    def target_request(self, value: Value) -> ReadRequest: ...

    @property
    def extracted_columns(self) -> tuple[Column, ...]:
        """The columns that a file of the lake has."""
        return self.columns

    @property
    def columns_id(self) -> str:
        return fingerprint(self.extracted_columns)

    @property
    def storage_types(self) -> dict[str, str]:
        """The columns that a file of the lake has, each with its type there."""
        return {column.name: column.rests_as for column in self.extracted_columns}

    @property
    def replaces_rows(self) -> bool:
        """Whether a load deletes rows that come again."""
        return False

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """Columns that only the target has, and that it does not fill by itself: a load must keep their values."""
        if self.target is None:
            return ()
        copied = {column.name for column in self.columns}
        return tuple(
            column
            for column in self.target.columns
            if column.name not in copied and not column.generated and not column.identity
        )

    @property
    def own_key(self) -> tuple[Column, ...]:
        """A key of the target by which values of its own columns find their rows again; empty when it has none.

        All of its columns are copied, and none takes nulls."""
        if self.target is None:
            return ()
        copied = {column.name: column for column in self.target_columns}
        required = {column.name for column in self.target.columns if not column.nullable}
        keys = [self.target.primary_key, *sorted(self.target.unique_keys, key=len)]
        usable = [key for key in keys if key and set(key) <= copied.keys() & required]
        return tuple(copied[name] for name in usable[0]) if usable else ()

    def as_loaded(self, request: ReadRequest, known: LedgerEntry) -> ReadRequest:
        """Return the request of target rows in the columns of an entry, also those that left the source since.

        Columns that the target no longer has, or has in another type, are left out."""
        held = types_when_extracted(known)
        since = tuple(column for column in self.own_columns if held.get(column.name) == column.rests_as)
        wide = replace(request, columns=(*request.columns, *since))
        return wide.only(known.columns).with_text(known.text_columns)

    @property
    def target_lacks(self) -> tuple[str, ...]:
        """Columns that travel and are not in the target table; none while there is no table at all."""
        target = self.target
        return () if target is None else tuple(one.name for one in self.columns if target.exactly(one.name) is None)

    @property
    def keys(self) -> tuple[str, ...]:
        """What names a row for a person: its keys, else the first columns."""
        names = self.row_keys or tuple(column.name for column in self.columns[:3])
        travelling = {column.name for column in self.columns}
        return tuple(name for name in names if name in travelling) or (self.columns[0].name,)

    @property
    def batch(self) -> BatchSize:
        return BatchSize(self.common.batch_rows, self.common.batch_bytes)

    def from_source(self, rows: Sql | None) -> ReadRequest:
        return ReadRequest(self.source.name, self.columns, rows, self._as_text, self.batch)

    def from_target(self, rows: Sql | None) -> ReadRequest:
        return ReadRequest(self.target_name, self.target_columns, rows, self._as_text, self.batch)

    @property
    def _as_text(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.name in self.common.columns)


def source_shape(settings: Table, catalogs: Catalogs) -> Shape:
    """The table in the source. Raises MissingObject, with the nearest name that there is."""
    source_db, target_db = catalogs.source.database, catalogs.target.database
    name = settings.source_table.within(source_db.default_schema)
    _require_two_places(settings, source_db, name, target_db, settings.target_table.within(target_db.default_schema))
    shape = catalogs.sources.get(name)
    if shape is None:
        raise MissingObject(
            f"{settings.name}: the source has no table {name}, or this login may not see it.",
            UNTOUCHED,
            _nearest(str(name), map(str, catalogs.source.tables()), "Correct `source_table`, or grant SELECT on it."),
        )
    _require_readable(settings, shape, "source")
    return shape


def compared(
    settings: Table,
    shape: Shape,
    catalogs: Catalogs,
    index_on: Column | None = None,
    *,
    as_they_are: Iterable[str] = (),
    needed: Sequence[Column] = (),
    deletes: bool = True,
) -> FoundTable:
    """The table on both sides. `as_they_are` are columns that keep their type whatever the settings ask; `needed` are
    those that a target must have; `deletes` says whether a load takes rows away.

    Raises MissingObject, Unsupported or DriftStop, each with what to do."""
    source_db, target_db = catalogs.source.database, catalogs.target.database
    target_name = settings.target_table.within(target_db.default_schema)
    shape = replace(shape, columns=tuple(_as_asked(settings, one, as_they_are) for one in shape.columns))
    target = catalogs.targets.get(target_name)
    if target is not None:
        _require_readable(settings, target, "target")
    drift = compare(settings.name, shape, target, target_name, target_db, index_on, needed=needed, deletes=deletes)
    return FoundTable(
        key=settings.name,
        common=settings,
        source=shape,
        target=target,
        target_name=target.name if target else target_name,
        columns=drift.columns,
        target_columns=tuple(_in_target(one, target, target_db) for one in drift.columns),
        schema_change=drift.change,
        notices=drift.notices,
        lake_table=_for_lake(settings.source_table.within(source_db.default_schema), source_db),
        ledger_name=str(target_name),
    )


def _require_two_places(
    settings: Table, source_db: Database, source: TableName, target_db: Database, target: TableName
) -> None:
    """Where a schema is a database, a table's name could lead out of the one that was checked."""
    if target_db.schemas_are_databases and target.schema != target_db.default_schema:
        raise ConfigError(
            f"{settings.name}: {target} is in another database than the target's URL names.",
            UNTOUCHED,
            f"Name {target.schema} in the URL of the target, where `protected` can see it.",
        )
    if source_db.schemas_are_databases:
        place = replace(source_db.connection, database=source.schema)
        if place.same_place_as(target_db.connection):
            raise ConfigError(
                f"{settings.name}: {source} is in the database that is the target.",
                UNTOUCHED,
                "Choose another source or another target.",
            )


def _require_readable(settings: Table, shape: Shape, side: str) -> None:
    """A table whose rows are out of sight is not an empty one."""
    if not shape.readable:
        raise MissingObject(
            f"{settings.name}: this login may see {shape.name} in the {side}, but not read it.",
            UNTOUCHED,
            f"Grant SELECT on {shape.name}.",
        )


def _as_asked(settings: Table, column: Column, as_they_are: Iterable[str]) -> Column:
    """A column that is asked for as text holds text, and goes into a column of text where another type has no room."""
    asked = column.name in settings.columns and column.name not in as_they_are
    return replace(column, holds=Type("string")) if asked else column


def _in_target(column: Column, target: Shape | None, database: Database) -> Column:
    """A column that the plan's own DDL adds or widens first is by then as we declare it."""
    if target is None:
        return database.declare(column)
    twin = target.exactly(column.name)
    if twin is None:
        return replace(database.declare(column), nullable=True)
    if database.fits(column, twin) == "widen":
        return replace(database.declare(column), nullable=twin.nullable)
    return twin.reading(column)


def named_column(settings: Table, shape: Shape, name: str, setting: str) -> Column:
    column = shape.column(name)
    if column is None:
        remedy = _nearest(name, (known.name for known in shape.columns), f"Correct `{setting}`.")
        raise MissingObject(f"{settings.name}: {shape.name} has no column {name}.", UNTOUCHED, remedy)
    return column


def _nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    spelled = {text.lower(): text for text in known}
    close = difflib.get_close_matches(name.lower(), spelled, n=1)
    return f"Did you mean {spelled[close[0]]}? {otherwise}" if close else otherwise


def _for_lake(name: TableName, database: Database) -> TableName:
    """The default schema has no folder of its own: users know the short form."""
    return TableName("", name.name) if name.schema == database.default_schema else name
