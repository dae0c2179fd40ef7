"""SCD type 2: versions are added to the history of their keys, and at most one of each key is current.

The source has the versions, or they are generated from a source that only has the current state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from pydantic import model_validator

from tidegate.errors import ConfigError, DriftStop, Unsupported
from tidegate.history.version_task import GeneratedColumns, VersionTask
from tidegate.interfaces.change import AnyChange, ChangeColumns, LoadNeeds
from tidegate.interfaces.load import AnySettings, Batches, Incoming, Load, Loaded, LoadTask, ReceiptOf, Requirements
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.loads._current_rows import require_one_current_row
from tidegate.loads._feed_versions import FeedVersions
from tidegate.loads._keys import key_of
from tidegate.loads._timeline import apply_versions
from tidegate.model.columns import Column, TableSchema
from tidegate.model.plan import Load as LoadStep
from tidegate.model.plan import Notice
from tidegate.model.state import LedgerEntry, TableState
from tidegate.model.types import Type
from tidegate.model.values import ValueKind
from tidegate.model.windows import ALL_VERSIONS
from tidegate.settings import Columns, Count, Duration, ScalarText, Settings, Text, wrong
from tidegate.sql.cursors import is_current
from tidegate.sql.text import sql
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable, named_column, spelled_like

DEFAULT_FLAG, DEFAULT_GENERATED_FLAG, DEFAULT_END = "IsLatest", "is_current", "end_date"


class Scd2Settings(Settings):
    """A table of versions: each row says of a business key how it was from its cursor value on."""

    history: Literal["source", "generate"] = "source"
    """Where versions come from: the `source` has them, or they are generated from its current state (`generate`)."""
    business_keys: Columns | None = None
    """What names an entity. A key of the catalog, less the cursor, when it is left out."""
    flag_column: Text | None = None
    """The column that tells which version is current: `IsLatest`, where there is one; `is_current`, where history is
    generated."""
    current_value: ScalarText = "1"
    """What the flag says of the current version, where it is a text: `Y` for instance."""
    superseded_value: ScalarText = "0"
    """What it says of all others, likewise."""
    flags: Literal["source", "recompute"] | None = None
    """Whose flags count: those of the `source`, or ours, by the newest cursor value of each key (`recompute`)."""
    start_column: Text = "start_date"
    """Where history is generated: the target's column for the start of a version."""
    end_column: Text | None = None
    """The column for the end of a version, which is the start of the next; `end_date` where history is generated."""
    surrogate_key: Text | None = None
    """Where history is generated: a column that numbers versions, which the target fills in by itself."""
    ignore_columns: tuple[Text, ...] = ()
    """Columns that the source changes in place and that make no version: no part of a version's content."""
    version_key: Columns | None = None
    """What names a version, where the source updates versions in place; the business key and the cursor otherwise."""
    deletes: Literal["ignore", "close"] = "ignore"
    """What becomes of entities that left the source: nothing, or they are closed. Then all keys of the source are read
    in every run, and compared."""
    tombstone_column: Text | None = None
    """A column that says of a version that its entity is gone: such a version is never current."""
    batch_size: Count | None = None
    """How many rows one transaction may bring. All of a lake entry, when it is left out."""

    @model_validator(mode="after")
    def _fits_together(self) -> Scd2Settings:
        if self.history == "generate" and (self.flags or self.version_key):
            raise wrong("generates its own history: leave out `flags` and `version_key`")
        return self

    @property
    def requires_cursor(self) -> bool:
        """Return whether rows can be read by a cursor only."""
        return self.history == "source"


class Scd2FeedSettings(Settings):
    """A table of versions that a change feed makes: one of every change, from the time of its commit on."""

    start_column: Text = "start_date"
    """The target's column for the start of a version, in UTC."""
    end_column: Text = "end_date"
    """The column for the end of a version, which is the start of the next."""
    flag_column: Text = DEFAULT_GENERATED_FLAG
    """The column that tells which version is current."""
    surrogate_key: Text | None = None
    """A column that numbers versions, which the target fills in by itself."""
    deletes: Literal["close", "ignore"] = "close"
    """What becomes of entities that were deleted in the source: their version ends (`close`), or it stays open."""
    keep_events: Duration | None = None
    """How long every change is kept in Tidegate's own table `cdc_events`, since its commit: `30 days`. Not at all, when
    it is left out."""


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


@dataclass(frozen=True)
class Scd2(Load):
    """The load of one table of versions."""

    name = "scd2"
    Settings = Scd2Settings
    takes_transform = False

    template: VersionTask
    """The task of a window, without the window."""
    cursor: str | None
    """The source's column; None where the whole source is compared."""
    start: str
    flag: Column | None
    current_value: str
    batch_size: int | None
    orders_target: bool
    """Whether the target's column of the cursor can be compared with cursor values: a row version arrives as bytes."""

    # Resolve

    @classmethod
    def settings_for(cls, change: type[AnyChange]) -> type[AnySettings]:
        return Scd2FeedSettings if change.reads_feed else Scd2Settings

    @classmethod
    def target_capabilities(cls, settings: Any) -> dict[str, str]:
        return {} if settings.surrogate_key is None else {"surrogate_keys": "`surrogate_key`"}

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        if change.feed:
            return _required_of_feed(settings, source, catalogs)
        cursor = change.by
        keys = _business_keys(settings, source, cursor)
        named = partial(_named, settings, source)
        version_key, ignored, tombstone = named("version_key"), named("ignore_columns"), named("tombstone_column")
        start, flag, end = cursor, _flag(settings, source), _end(settings, source)
        generated: tuple[Column, ...] = ()
        if settings.history == "generate":
            generated = start, end, flag = _generated(settings, cursor)
            source = _with_generated(settings, source, generated, keys, catalogs)
        assert start is not None
        for column in (flag, *map(source.column, tombstone)):
            _require_truth(settings, column)
        _require_way_to_close(settings, flag or end)
        known = {start.name, *keys, *version_key, *ignored, *tombstone, *(one.name for one in (flag, end) if one)}
        return Scd2Requirements(
            source,
            keys=keys,
            keep_types=known,
            needed=(start,),
            # A load looks for the versions of its keys; an index on their cursor would only have to be kept.
            index=source.exact_column(keys[0]),
            deletes=False,
            generated=tuple(column.name for column in generated),
            start=start,
            flag=flag,
            end=end,
            version_key=version_key,
            ignored=ignored,
            tombstone=tombstone[0] if tombstone else None,
        )

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        assert isinstance(required, Scd2Requirements) and required.start is not None
        if change.feed:
            return _of_feed(settings, table, required, catalogs)
        _require_copied(settings, table, set(required.keep_types))
        table = _with_surrogate(settings, table, catalogs)
        if required.flag is None:
            notice = Notice("no column tells which version is current: versions are copied, no flags are kept")
            table = replace(table, notices=(*table.notices, notice))
        kind = catalogs.source.database.value_kind(change.by) if change.by is not None else None
        load = cls(
            template=_template(settings, table, required, change.by, kind),
            cursor=change.by.name if change.by is not None else None,
            start=required.start.name,
            flag=required.flag,
            current_value=settings.current_value,
            batch_size=settings.batch_size,
            orders_target=change.by is not None
            and catalogs.target.database.value_kind(table.in_target(change.by)) is kind,
        )
        return load, table

    @property
    def check(self) -> str:
        return "versions"

    @property
    def needs(self) -> LoadNeeds:
        task = self.template
        is_generated = task.generated is not None
        validity = () if is_generated else (task.flag, task.end)
        watched = tuple(name for name in (*validity, task.tombstone) if name is not None)
        has_flag = self.flag is not None and not is_generated
        return LoadNeeds(
            keys=task.keys,
            all_keys=task.closes_absent,
            watched=watched,
            current_rows=is_current(self.flag, self.current_value) if self.flag is not None and has_flag else None,
            order_matters=is_generated,
        )

    @property
    def changed_columns(self) -> tuple[str, ...]:
        return self.template.scd2_columns.ignored

    @property
    def row_keys(self) -> tuple[str, ...]:
        return (*self.template.keys, self.start)

    # Run

    def task(self, task: LoadTask, step: LoadStep, state: TableState, loads: int) -> VersionTask:
        # Only all rows together tell which keys are gone, where the lake keeps no keys beside them.
        is_one = step.exact or (self.template.closes_absent and self.cursor is None)
        size = None if is_one else self.batch_size
        return replace(
            self.template,
            window=task.window,
            entry=task.entry,
            is_newest=step.is_newest,
            exact=step.exact,
            # What the first of several windows brings was not there when the target was counted.
            target_rows=(next(iter(state.target.values()), None) or 0) if loads == 1 else None,
            parts=-(-(step.rows or 0) // size) or 1 if size else 1,
        )

    def require_loadable(self, request: ReadRequest, batches: Batches) -> None:
        require_one_current_row(replace(self.template, request=request), batches)

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        task: VersionTask = incoming.task
        extracted = partial(incoming.extracted, self.extracted_names) if incoming.extracted is not None else None
        task = replace(task, source_keys=incoming.keys, extracted=extracted if self.cursor is not None else None)
        return apply_versions(session, task, incoming.ledger, incoming.batches)

    @property
    def extracted_names(self) -> list[str]:
        """Return the columns that name a version, as the lake has them: a generated start is the cursor there."""
        group = self.template.scd2_columns.version_key
        return [self.cursor if name == self.start and self.cursor is not None else name for name in group]


def _required_of_feed(settings: Any, source: TableSchema, catalogs: Catalogs) -> Scd2Requirements:
    keys = key_of(settings, source, "keys")
    if not keys:
        raise Unsupported(
            f"{settings.name}: nothing names a row of {source.name}, so its versions cannot be told apart.",
            UNTOUCHED,
            "Name `keys`, or add a primary key.",
        )
    generated = start, end, flag = _generated(settings, None)
    with_versions = _with_generated(settings, source, generated, keys, catalogs)
    return Scd2Requirements(
        with_versions,
        keys=keys,
        keep_types={*keys, *(column.name for column in generated)},
        needed=(start,),
        index=source.exact_column(keys[0]),
        deletes=False,
        generated=tuple(column.name for column in generated),
        start=start,
        flag=flag,
        end=end,
    )


def _of_feed(
    settings: Any, table: FoundTable, required: Scd2Requirements, catalogs: Catalogs
) -> tuple[Load, FoundTable]:
    _require_copied(settings, table, set(required.keep_types))
    table = _with_surrogate(settings, table, catalogs)
    by_name = {column.name: column for column in table.target_columns}
    start, end, flag = (by_name[name] for name in table.generated)
    current = is_current(flag, "1")
    # Only current versions count as rows that the source has.
    table = replace(table, gone=sql("NOT ({current})", current=current))
    return FeedVersions(required.keys, start, end, flag, settings.deletes == "close", settings.keep_events), table


def _template(
    settings: Any, table: FoundTable, required: Scd2Requirements, cursor: Column | None, kind: ValueKind | None
) -> VersionTask:
    assert required.start is not None
    generated = tuple(column for name in table.generated for column in table.target_columns if column.name == name)
    copied = tuple(column for column in table.target_columns if column.name not in table.generated)
    return VersionTask(
        table=table.ledger_name,
        request=replace(table.from_target(None), columns=copied),
        window=ALL_VERSIONS,
        entry=LedgerEntry(1, "loaded", 0, ""),
        own_columns=table.own_columns,
        own_key=table.own_key,
        keys=required.keys,
        cursor=required.start.name,
        cursor_kind=kind or ValueKind.TEXT,
        version_key=required.version_key,
        wider_keys=_wider_keys(table.source, required.keys, cursor) if not generated else (),
        flag=required.flag.name if required.flag else None,
        end=required.end.name if required.end else None,
        ignored=required.ignored,
        tombstone=required.tombstone,
        current_value=settings.current_value,
        superseded_value=settings.superseded_value,
        recompute=bool(generated) or settings.flags == "recompute",
        closes_absent=settings.deletes == "close",
        generated=GeneratedColumns(generated, cursor.name if cursor is not None else "") if generated else None,
    )


def _named(settings: Any, source: TableSchema, setting: str) -> tuple[str, ...]:
    """The columns that a setting names, as the source spells them."""
    given = getattr(settings, setting) or ()
    names = (given,) if isinstance(given, str) else given
    return tuple(named_column(settings, source, name, setting).name for name in names)


def _flag(settings: Any, source: TableSchema) -> Column | None:
    if settings.history == "generate":
        return None
    if settings.flag_column is not None:
        return named_column(settings, source, settings.flag_column, "flag_column")
    usual = source.column(DEFAULT_FLAG)
    if usual is None and settings.flags is not None:
        raise ConfigError(
            f"{settings.name}: `flags: {settings.flags}` needs to know which column says that a version holds.",
            UNTOUCHED,
            "Name it as `flag_column`.",
        )
    return usual


def _require_truth(settings: Any, column: Column | None) -> None:
    """Which text means yes is in no catalog; times and bytes mean neither yes nor no."""
    if column is None:
        return
    said = {"current_value", "superseded_value"} <= settings.model_fields_set
    if column.logical_type.storage_type in ("string", "text") and not said:
        raise ConfigError(
            f"{settings.name}: {column.name} is {column.type}, and which text says yes is not known.",
            UNTOUCHED,
            "Name both as `current_value` and `superseded_value`: Y and N, for instance.",
        )
    if column.logical_type.storage_type in ("date", "time", "timestamp", "timestamptz", "binary"):
        raise Unsupported(
            f"{settings.name}: {column.name} is {column.type}, which says neither yes nor no.",
            UNTOUCHED,
            "Name a column of a truth, a number (1 and 0) or a text.",
        )


def _require_way_to_close(settings: Any, tells: Column | None) -> None:
    if settings.deletes == "close" and tells is None:
        raise ConfigError(
            f"{settings.name}: `deletes: close` needs a column that says whether a version holds, or where it ends.",
            UNTOUCHED,
            "Name it as `flag_column` or `end_column`.",
        )


def _end(settings: Any, source: TableSchema) -> Column | None:
    if settings.end_column is None or settings.history == "generate":
        return None
    return named_column(settings, source, settings.end_column, "end_column")


def _business_keys(settings: Any, source: TableSchema, cursor: Column | None) -> tuple[str, ...]:
    """As the source spells them: configured, or a key of the catalog, of versions less the cursor."""
    if settings.business_keys:
        return _named(settings, source, "business_keys")
    for key in (source.primary_key, *source.unique_keys):
        if settings.history == "generate" and key:
            return key
        entity = tuple(name for name in key if cursor is None or name != cursor.name)
        if entity and entity != key:
            return entity
    why = f"no key of {source.name} holds {cursor.name}" if cursor is not None else f"{source.name} has no key"
    raise ConfigError(
        f"{settings.name}: {why}, so what names an entity cannot be told.", UNTOUCHED, "Name it as `business_keys`."
    )


def _wider_keys(source: TableSchema, keys: tuple[str, ...], cursor: Column | None) -> tuple[tuple[str, ...], ...]:
    """Return keys of the source, less the cursor, that hold the business key and more columns."""
    cursor_name = cursor.name if cursor is not None else ""
    others = (tuple(name for name in key if name != cursor_name) for key in (source.primary_key, *source.unique_keys))
    return tuple(key for key in others if set(keys) < set(key))


# Generated history


def _generated(settings: Any, cursor: Column | None) -> tuple[Column, Column, Column]:
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


def _with_generated(
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


def _with_surrogate(settings: Any, table: FoundTable, catalogs: Catalogs) -> FoundTable:
    """A table that is created here numbers its versions, where that is asked for."""
    change = table.schema_change
    if settings.surrogate_key is None or table.target is not None or change is None:
        return table
    database = catalogs.target.database
    numbered = database.numbered(change.statements, table.target_name, settings.surrogate_key)
    return replace(table, schema_change=replace(change, statements=numbered))


def _require_copied(settings: Any, table: FoundTable, known: set[str]) -> None:
    missing = known - {column.name for column in table.columns}
    if missing:
        raise Unsupported(
            f"{settings.name}: the target computes {', '.join(sorted(missing))}, which versions are known by.",
            UNTOUCHED,
            "Make it an ordinary column in the target, or load into another table with `target_table`.",
        )
