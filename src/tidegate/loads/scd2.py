"""SCD type 2: versions are added to the history of their keys, and at most one of each key is current.

The source has the versions, or they are generated from a source that only has the current state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from pydantic import model_validator

from tidegate.errors import ConfigError, Unsupported
from tidegate.history.version_task import GeneratedColumns, VersionTask
from tidegate.interfaces.change import AnyChange, ChangeColumns, LoadNeeds
from tidegate.interfaces.load import AnySettings, Batches, Incoming, Load, Loaded, LoadTask, ReceiptOf, Requirements
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.loads._current_rows import require_one_current_row
from tidegate.loads._feed_versions import FeedVersions
from tidegate.loads._generated_history import (
    Scd2Requirements,
    generated_columns,
    require_copied,
    with_generated_columns,
    with_surrogate_key,
)
from tidegate.loads._timeline import apply_versions
from tidegate.model.columns import Column, TableSchema
from tidegate.model.plan import Load as LoadStep
from tidegate.model.plan import Notice
from tidegate.model.state import LedgerEntry, TableState
from tidegate.model.values import ValueKind
from tidegate.model.windows import ALL_VERSIONS
from tidegate.settings import Columns, Count, ScalarText, Settings, Text, wrong
from tidegate.sql.cursors import is_current
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable, named_column

DEFAULT_FLAG = "IsLatest"


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
        return FeedVersions.Settings if change.reads_feed else Scd2Settings

    @classmethod
    def target_capabilities(cls, settings: Any) -> dict[str, str]:
        return {} if settings.surrogate_key is None else {"surrogate_keys": "`surrogate_key`"}

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        if change.feed:
            return FeedVersions.requirements(settings, source, change, catalogs)
        cursor = change.by
        keys = _business_keys(settings, source, cursor)
        named = partial(_named, settings, source)
        version_key, ignored, tombstone = named("version_key"), named("ignore_columns"), named("tombstone_column")
        start, flag, end = cursor, _flag(settings, source), _end(settings, source)
        generated: tuple[Column, ...] = ()
        if settings.history == "generate":
            generated = start, end, flag = generated_columns(settings, cursor)
            source = with_generated_columns(settings, source, generated, keys, catalogs)
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
            return FeedVersions.bind(settings, table, required, change, catalogs)
        require_copied(settings, table, set(required.keep_types))
        table = with_surrogate_key(settings, table, catalogs)
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
