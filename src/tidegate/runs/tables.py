"""A configured table, found in both catalogs: which columns travel, by which column it is partitioned."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidegate.config.project import PartitionTable
from tidegate.errors import ConfigError, MissingObject, Unsupported
from tidegate.interfaces import BatchSize, Database, ReadRequest, Session
from tidegate.model.columns import Column, Shape, fingerprint
from tidegate.model.names import TableName
from tidegate.model.plan import ChangeSchema, Notice
from tidegate.model.types import Type
from tidegate.model.values import Kind, Value
from tidegate.runs.drift import compare
from tidegate.sql.partitions import of_value

UNTOUCHED = "Nothing was read or written for this table."


@dataclass(frozen=True)
class ResolvedTable:
    """All names settled. `target` is None while the target table does not exist."""

    key: str
    settings: PartitionTable
    source: Shape
    target: Shape | None
    target_name: TableName
    column: Column
    target_column: Column
    kind: Kind
    columns: tuple[Column, ...]
    target_columns: tuple[Column, ...]
    """The same columns in the target, as they will be when the plan's DDL is done; each reads what the source's has."""
    schema_change: ChangeSchema | None
    notices: tuple[Notice, ...]
    lake_table: TableName
    ledger_name: str
    """The target as it is configured, for lock and ledger alike; the server may spell it otherwise."""

    @property
    def lake_column(self) -> str:
        return self.settings.partition_column

    @property
    def columns_id(self) -> str:
        return fingerprint(self.columns)

    @property
    def restatement_column(self) -> Column | None:
        """As the catalog spells it; None when none is named."""
        named = self.settings.restatement_column
        return self.source.column(named) if named else None

    @property
    def target_lacks(self) -> tuple[str, ...]:
        """Columns that travel and are not in the target table; none while there is no table at all."""
        target = self.target
        return () if target is None else tuple(one.name for one in self.columns if target.exactly(one.name) is None)

    @property
    def keys(self) -> tuple[str, ...]:
        """What names a row for a person: configured keys, the primary key, else the first columns."""
        names = self.settings.keys or self.source.primary_key or tuple(column.name for column in self.columns[:3])
        travelling = {column.name for column in self.columns}
        return tuple(name for name in names if name in travelling) or (self.columns[0].name,)

    @property
    def batch(self) -> BatchSize:
        return BatchSize(self.settings.batch_rows, self.settings.batch_bytes)

    def value(self, text: object) -> Value:
        """A user's spelling of a partition value. Raises ConfigError."""
        try:
            return Value.of(text, self.kind)
        except ValueError as problem:
            raise ConfigError(
                f"{self.key}: {problem}.", UNTOUCHED, f"{self.column.name} is {self.column.type}."
            ) from None

    def source_request(self, value: Value) -> ReadRequest:
        return ReadRequest(self.source.name, self.columns, of_value(self.column, value), self._as_text, self.batch)

    def target_request(self, value: Value) -> ReadRequest:
        return ReadRequest(
            self.target_name, self.target_columns, of_value(self.target_column, value), self._as_text, self.batch
        )

    @property
    def _as_text(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.name in self.settings.columns)


def resolve(
    settings: PartitionTable,
    source: Session,
    target_session: Session,
    sources: dict[TableName, Shape],
    targets: dict[TableName, Shape],
) -> ResolvedTable:
    """Raises MissingObject, Unsupported or DriftStop, each with what to do."""
    source_db, target_db = source.database, target_session.database
    source_name = settings.source_table.within(source_db.default_schema)
    target_name = settings.target_table.within(target_db.default_schema)
    _require_two_places(settings, source_db, source_name, target_db, target_name)
    shape = sources.get(source_name)
    if shape is None:
        raise MissingObject(
            f"{settings.name}: the source has no table {source_name}, or this login may not see it.",
            UNTOUCHED,
            _nearest(str(source_name), map(str, source.tables()), "Correct `source_table`, or grant SELECT on it."),
        )
    _require_readable(settings, shape, "source")
    column = _column(settings, shape, settings.partition_column, "partition_column")
    if settings.restatement_column:
        watched = _column(settings, shape, settings.restatement_column, "restatement_column")
        if source_db.partition_kind(watched) is None:
            raise Unsupported(
                f"{settings.name}: {watched.name} is {watched.type}, whose greatest value cannot be told exactly.",
                UNTOUCHED,
                "Watch a column of an integer, decimal, date, timestamp or text type, or use `restatement: hash`.",
            )
    kind = source_db.partition_kind(column)
    if kind is None:
        raise Unsupported(
            f"{settings.name}: {column.name} is {column.type}, whose values have no exact order to partition by.",
            UNTOUCHED,
            "Choose a column of an integer, decimal, date, timestamp or text type.",
        )
    shape = replace(shape, columns=tuple(_as_asked(settings, one, column) for one in shape.columns))
    target = targets.get(target_name)
    if target is not None:
        _require_readable(settings, target, "target")
    drift = compare(settings.name, shape, target, target_name, target_db, column)
    in_target = tuple(_in_target(one, target, target_db) for one in drift.columns)
    target_column = next((one for one in in_target if one.name == column.name), target_db.declare(column))
    if target_db.partition_kind(target_column) is not kind:
        raise Unsupported(
            f"{settings.name}: {column.name} is {column.type} in the source and {target_column.type} in the target,"
            " whose values have another order.",
            UNTOUCHED,
            "Give the target's column a type of the same sort, or partition by another column.",
        )
    return ResolvedTable(
        key=settings.name,
        settings=settings,
        source=shape,
        target=target,
        target_name=target.name if target else target_name,
        column=column,
        target_column=target_column,
        kind=kind,
        columns=drift.columns,
        target_columns=in_target,
        schema_change=drift.change,
        notices=drift.notices,
        lake_table=_for_lake(source_name, source_db),
        ledger_name=str(target_name),
    )


def _require_two_places(
    settings: PartitionTable, source_db: Database, source: TableName, target_db: Database, target: TableName
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


def _require_readable(settings: PartitionTable, shape: Shape, side: str) -> None:
    """A table whose rows are out of sight is not an empty one."""
    if not shape.readable:
        raise MissingObject(
            f"{settings.name}: this login may see {shape.name} in the {side}, but not read it.",
            UNTOUCHED,
            f"Grant SELECT on {shape.name}.",
        )


def _as_asked(settings: PartitionTable, column: Column, partition: Column) -> Column:
    """A column that is asked for as text holds text, and goes into a column of text where another type has no room."""
    asked = column.name in settings.columns and column.name != partition.name
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


def _column(settings: PartitionTable, shape: Shape, name: str, setting: str) -> Column:
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
