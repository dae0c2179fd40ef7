"""A configured table, found in both catalogs: which columns are copied, and how both sides are read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tidegate.errors import ConfigError, MissingObject
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.interfaces.requests import BatchSize, ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column, TableSchema, fingerprint
from tidegate.model.names import LakeName, TableName
from tidegate.model.plan import ChangeSchema, Notice
from tidegate.model.state import LedgerEntry, types_when_extracted
from tidegate.model.types import Type
from tidegate.settings import IN_LAKE, TableSettings
from tidegate.sql.text import Sql, sql
from tidegate.tables.drift import compare
from tidegate.tables.retyping import to_retype

UNTOUCHED = "Nothing was read or written for this table."


@dataclass(frozen=True)
class Catalogs:
    """What both catalogs say of the tables of a project, with the sessions that asked them."""

    source: Session
    target: Session
    sources: dict[TableName, TableSchema]
    targets: dict[TableName, TableSchema]


@dataclass(frozen=True)
class FoundTable:
    """A table with all names resolved. `target` is None while the target table does not exist."""

    key: str
    settings: TableSettings
    source: TableSchema
    target: TableSchema | None
    target_name: TableName
    columns: tuple[Column, ...]
    target_columns: tuple[Column, ...]
    """The same columns in the target, as they are after the plan's DDL; each is read as what the source's column is."""
    schema_change: ChangeSchema | None
    notices: tuple[Notice, ...]
    lake_name: LakeName
    ledger_name: str
    """The target as it is configured, for lock and ledger alike; the server may spell it otherwise."""
    generated: tuple[str, ...] = ()
    """Columns that the load generates: the source does not have them."""
    index_on: str = ""
    """The column that a new target is indexed by."""
    bypasses_triggers: bool = False
    """Triggers of the target do not fire while rows are loaded."""
    left_out: int | None = None
    """How many rows of the source `where` leaves out, where they were counted."""
    kept: LakeTable | None = None
    """With `target: lake`: the table of the lake that is the target. `lake_name` is then that of its log."""
    gone: Sql | None = None
    """A condition for rows of the target that only say that their key left the source: they count as not there."""

    def in_target(self, column: Column) -> Column:
        """Return the target's column of the same name."""
        return next(candidate for candidate in self.target_columns if candidate.name == column.name)

    @property
    def extracted_columns(self) -> tuple[Column, ...]:
        """Return the columns that a lake entry has."""
        return tuple(column for column in self.columns if column.name not in self.generated)

    @property
    def columns_id(self) -> str:
        return fingerprint(self.extracted_columns)

    @property
    def storage_types(self) -> dict[str, str]:
        """Return the columns that a lake entry has, each with its type there."""
        return {column.name: column.storage_type for column in self.extracted_columns}

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """Return the columns that only the target has and does not fill by itself: a load must keep their values."""
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
        """Return a key of the target by which values of its own columns find their rows again; empty without one.

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
        since = tuple(column for column in self.own_columns if held.get(column.name) == column.storage_type)
        wide = replace(request, columns=(*request.columns, *since))
        return wide.only(known.columns).with_text(known.text_columns)

    @property
    def target_lacks(self) -> tuple[str, ...]:
        """Return the copied columns that are not in the target table; none while there is no table at all."""
        target = self.target
        if target is None:
            return ()
        return tuple(column.name for column in self.columns if target.exact_column(column.name) is None)

    @property
    def batch(self) -> BatchSize:
        return BatchSize(self.settings.batch_rows, self.settings.batch_bytes)

    def from_source(self, rows: Sql | None) -> ReadRequest:
        return self._request(self.source.name, self.extracted_columns, rows)

    def from_target(self, rows: Sql | None) -> ReadRequest:
        return self._request(self.target_name, self.target_columns, self.present_in_target(rows))

    def _request(self, table: TableName, columns: tuple[Column, ...], rows: Sql | None) -> ReadRequest:
        return ReadRequest(table, columns, rows, self._text_columns, self.batch, self.settings.shows_values)

    def present_in_target(self, rows: Sql | None = None) -> Sql | None:
        """Return the condition for rows of the target that count as there, of those that meet `rows`."""
        if self.gone is None:
            return rows
        present = sql("NOT ({gone})", gone=self.gone)
        return present if rows is None else sql("({rows}) AND {present}", rows=rows, present=present)

    @property
    def _text_columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.name in self.settings.text_columns)

    def naming_keys(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return these keys, else a key of the source: what messages may show of a row. Empty without one."""
        copied = {column.name for column in self.columns}
        known = (tuple(keys), self.source.primary_key, *self.source.unique_keys)
        return next((key for key in known if key and set(key) <= copied), ())

    def row_names(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that name a row for a person: the keys, else the first columns."""
        names = keys or tuple(column.name for column in self.columns[:3])
        copied = {column.name for column in self.columns}
        return tuple(name for name in names if name in copied) or (self.columns[0].name,)


def source_schema(settings: TableSettings, catalogs: Catalogs) -> TableSchema:
    """Return the table in the source. Raises MissingObject, with the nearest name that there is."""
    source_db, target_db = catalogs.source.database, catalogs.target.database
    name = settings.source_table.within(source_db.default_schema)
    _require_two_places(settings, source_db, name, target_db, settings.target_table.within(target_db.default_schema))
    schema = catalogs.sources.get(name)
    if schema is None:
        raise MissingObject(
            f"{settings.name}: the source has no table {name}, or this login may not see it.",
            UNTOUCHED,
            _nearest(str(name), map(str, catalogs.source.tables()), "Correct `source_table`, or grant SELECT on it."),
        )
    _require_readable(settings, schema, "source")
    return schema


def schema_of_target(settings: TableSettings, catalogs: Catalogs) -> TableSchema:
    """Return the columns and the key of the table in the target, for rows that no table of the source has. Raises
    MissingObject."""
    name = settings.target_table.within(catalogs.target.database.default_schema)
    schema = catalogs.targets.get(name)
    if schema is None:
        raise MissingObject(
            f"{settings.name}: the target has no table {name}, and nothing else says which columns it has.",
            UNTOUCHED,
            "Create the table with its primary key, then run again.",
        )
    columns = tuple(column for column in schema.columns if not column.generated)
    return replace(schema, name=settings.source_table.within(catalogs.source.database.default_schema), columns=columns)


def reconcile_schema(
    settings: TableSettings,
    source: TableSchema,
    catalogs: Catalogs,
    *,
    index: Column | None = None,
    keep_types: Iterable[str] = (),
    needed: Sequence[Column] = (),
    deletes: bool = True,
    generated: Sequence[str] = (),
) -> FoundTable:
    """Return the table on both sides. Raises MissingObject, Unsupported or DriftStop, each with what to do.

    `index` is the column that a new target is indexed by. Columns in `keep_types` keep their type whatever the settings
    ask. A target must have the columns in `needed`. `deletes` says whether a load takes rows away."""
    source_db, target_db = catalogs.source.database, catalogs.target.database
    target_name = settings.target_table.within(target_db.default_schema)
    source = replace(
        source, columns=tuple(_with_chosen_type(settings, column, keep_types) for column in source.columns)
    )
    target = catalogs.targets.get(target_name)
    if target is not None:
        _require_readable(settings, target, "target")
        target = spelled_like(target, source, target_db)
    retyped = to_retype(settings, source, target, _in_catalog(settings, catalogs), catalogs.target)
    drift = compare(
        settings.name, source, target, target_name, target_db, index, needed=needed, deletes=deletes, retyped=retyped
    )
    return FoundTable(
        key=settings.name,
        settings=settings,
        source=source,
        target=target,
        target_name=target.name if target else target_name,
        columns=drift.columns,
        target_columns=tuple(_in_target(column, target, target_db, retyped) for column in drift.columns),
        schema_change=_laid_out(settings, drift.change, target, target_name, target_db),
        notices=drift.notices,
        lake_name=_lake_name(settings, source_db, target_name),
        ledger_name=str(target_name),
        generated=tuple(generated),
        index_on=index.name if index is not None else "",
    )


def _in_catalog(settings: TableSettings, catalogs: Catalogs) -> TableSchema | None:
    return catalogs.sources.get(settings.source_table.within(catalogs.source.database.default_schema))


def spelled_like(target: TableSchema, source: TableSchema, database: Database) -> TableSchema:
    """Return a table of a target that folds names, with its columns in the spelling of the source."""
    if not database.folds_names:
        return target
    spelled = {column.name.lower(): column.name for column in source.columns}

    def names(key: Sequence[str]) -> tuple[str, ...]:
        return tuple(spelled.get(name.lower(), name) for name in key)

    return replace(
        target,
        columns=tuple(replace(one, name=spelled.get(one.name.lower(), one.name)) for one in target.columns),
        primary_key=names(target.primary_key),
        unique_keys=tuple(map(names, target.unique_keys)),
        indexes=tuple(map(names, target.indexes)),
    )


def _laid_out(
    settings: TableSettings,
    change: ChangeSchema | None,
    target: TableSchema | None,
    name: TableName,
    database: Database,
) -> ChangeSchema | None:
    """Return the DDL with distribution and sort keys, where the settings ask for them and the table is new."""
    if settings.distribution is None and settings.sort_keys is None:
        return change
    statements = () if change is None or target is not None else change.statements
    chosen = database.laid_out(statements, name, settings.distribution or "", settings.sort_keys or ())
    return replace(change, statements=chosen) if chosen and change is not None else change


def _require_two_places(
    settings: TableSettings, source_db: Database, source: TableName, target_db: Database, target: TableName
) -> None:
    """Raise ConfigError for a name that leads into another database than the one that was checked."""
    if target_db.capabilities.schemas_are_databases and target.schema != target_db.default_schema:
        raise ConfigError(
            f"{settings.name}: {target} is in another database than the target's URL names.",
            UNTOUCHED,
            f"Name {target.schema} in the URL of the target, where `protected` can see it.",
        )
    if source_db.capabilities.schemas_are_databases:
        place = replace(source_db.connection, database=source.schema)
        if place.same_database_as(target_db.connection):
            raise ConfigError(
                f"{settings.name}: {source} is in the database that is the target.",
                UNTOUCHED,
                "Choose another source or another target.",
            )


def _require_readable(settings: TableSettings, schema: TableSchema, side: str) -> None:
    """Raise MissingObject for a table whose rows this login may not see: it is not an empty one."""
    if not schema.readable:
        raise MissingObject(
            f"{settings.name}: this login may see {schema.name} in the {side}, but not read it.",
            UNTOUCHED,
            f"Grant SELECT on {schema.name}.",
        )


def _with_chosen_type(settings: TableSettings, column: Column, keep_types: Iterable[str]) -> Column:
    """Return a column of text where the settings ask for text."""
    is_text = column.name in settings.text_columns and column.name not in keep_types
    return replace(column, logical_type=Type("string")) if is_text else column


def _in_target(column: Column, target: TableSchema | None, database: Database, retyped: frozenset[str]) -> Column:
    """Return the target's column as it is after the plan's own DDL, which adds or widens columns first."""
    if target is None:
        return database.declare(column)
    twin = target.exact_column(column.name)
    if twin is None:
        return replace(database.declare(column), nullable=True)
    if column.name in retyped or database.fits(column, twin) == "widen":
        return replace(database.declare(column), nullable=twin.nullable)
    return twin.read_like(column)


def kept_in_lake(found: FoundTable) -> FoundTable:
    """Return the table with a target in the lake: under its name there, beside the log of its changes."""
    chosen = TableName.parse(found.settings.target_table.name.removeprefix(IN_LAKE))
    name = found.lake_name
    if chosen != found.settings.source_table:
        name = replace(name, schema=chosen.schema, name=chosen.name)
    log = replace(name, name=f"{name.name}__log", below=f"{name.below}__log")
    return replace(found, kept=LakeTable(name, Layout.LOG, "kept"), lake_name=log, target=None, schema_change=None)


def named_column(settings: TableSettings, schema: TableSchema, name: str, setting: str) -> Column:
    column = schema.column(name)
    if column is None:
        remedy = _nearest(name, (known.name for known in schema.columns), f"Correct `{setting}`.")
        raise MissingObject(f"{settings.name}: {schema.name} has no column {name}.", UNTOUCHED, remedy)
    return column


def _nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    spelled = {text.lower(): text for text in known}
    close = difflib.get_close_matches(name.lower(), spelled, n=1)
    return f"Did you mean {spelled[close[0]]}? {otherwise}" if close else otherwise


def _lake_name(settings: TableSettings, source_db: Database, target: TableName) -> LakeName:
    """Return the name in the lake. The default schema has no folder of its own: users know the short form."""
    source = settings.source_table.within(source_db.default_schema)
    short = TableName("", source.name) if source.schema == source_db.default_schema else source
    name, database, below = settings.lake_table or short, source_db.connection.database, settings.lake_table or short
    if source_db.capabilities.schemas_are_databases and settings.lake_table is None:
        database, below = source.schema, TableName("", source.name)
    return LakeName(name.schema, name.name, database, target.schema, str(below))
