"""Cursor: rows are read by a column whose value grows with change, such as `LastModified`, in windows of its values.

Without a cursor column, where the load generates history by itself, the whole source is compared in every run.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from tidegate.changes._watermarks import watermark_of
from tidegate.changes._zones import CursorZone
from tidegate.changes.cursor.coverage import coverage_of
from tidegate.changes.cursor.inspect import inspect_table
from tidegate.changes.cursor.plan import CursorState, plan
from tidegate.changes.cursor.status import status
from tidegate.errors import ConfigError, Unsupported
from tidegate.interfaces.change import Change, ChangeColumns, Extraction, LoadedRows, LoadNeeds, Sessions
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.columns import Column, TableSchema
from tidegate.model.coverage import Coverage
from tidegate.model.plan import Extract, Labels, Notice, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.status import VersionsStatus
from tidegate.model.tokens import CursorWindow
from tidegate.model.values import Value, ValueKind
from tidegate.model.windows import ALL_VERSIONS
from tidegate.settings import Count, Duration, Settings, TableSettings, Text
from tidegate.sql import cursors
from tidegate.sql.contents import checksum
from tidegate.sql.text import Sql
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable, named_column
from tidegate.tables.planned import PlannedTable

DEFAULT_CURSOR = "LastModified"
DEFAULT_LOOK_BACK = 600
CURSOR_KINDS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DATE, ValueKind.TIMESTAMP)


class CursorSettings(Settings):
    """A table that is read by a cursor."""

    cursor_column: Text | None = None
    """The column that tells when a row came, and grows with change: `LastModified`. Where history is generated it may
    be left out: then the whole source is compared, and a version begins when it was read."""
    initial_load: Literal["window", "latest+window", "full"] = "window"
    """What the first run takes: the last days, with the current versions whatever their age, or all."""
    initial_load_days: Count = 30
    """How many days that window has, on the source's clock."""
    look_back: Duration | None = None
    """How far before the watermark reading starts: seconds, or `10 minutes`, which is the default for times."""
    cursor_zone: CursorZone = None
    """The time zone of a cursor without a zone: `utc`, `server` (the default), or a name such as `Europe/Berlin`."""


class _CursorTable(TableSettings, CursorSettings):
    """The settings of a table with this change."""


@dataclass(frozen=True)
class CursorChange(Change[CursorState]):
    """The change of one table that is read by a cursor."""

    name = "cursor"
    Settings = CursorSettings
    loads = ("scd2",)
    why_no_target_retention = "without its older versions the target would tell the past of a key wrongly"
    serial_loads = True  # what was read later has the last word

    table: FoundTable
    settings: _CursorTable
    cursor: Column | None
    """The source's column; None where the whole source is compared."""
    kind: ValueKind
    needs: LoadNeeds

    @classmethod
    def columns(cls, settings: Any, source: TableSchema, catalogs: Catalogs) -> ChangeColumns:
        if settings.cursor_column is None and not getattr(settings, "requires_cursor", True):
            return ChangeColumns()
        cursor = named_column(settings, source, settings.cursor_column or DEFAULT_CURSOR, "cursor_column")
        if catalogs.source.database.value_kind(cursor) not in CURSOR_KINDS:
            raise Unsupported(
                f"{settings.name}: {cursor.name} is {cursor.type}, which cannot be a cursor.",
                UNTOUCHED,
                "Name a column of an integer, decimal, date or timestamp type as `cursor_column`.",
            )
        return ChangeColumns(by=cursor, keep_types=(cursor.name,))

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> CursorChange:
        cursor = columns.by
        kind = catalogs.source.database.value_kind(cursor) if cursor is not None else None
        notices = []
        if cursor is not None and not table.generated and not table.source.has_index_on(cursor.name):
            notices.append(Notice(f"no index of the source starts with {cursor.name}: every run scans the table"))
        if settings.initial_load == "latest+window" and needs.current_rows is None and not table.generated:
            text = "`latest+window` needs a flag column: only the window is taken"
            notices.append(Notice(text, severity="warning"))
        table = replace(table, notices=(*table.notices, *notices))
        return cls(table, settings, cursor, kind or ValueKind.TEXT, needs)

    @property
    def lake_table(self) -> LakeTable:
        return LakeTable(self.table.lake_name, Layout.LOG, "scd")

    @property
    def divided_by(self) -> str:
        return self.cursor.name if self.cursor else "content"

    @property
    def labels(self) -> Labels:
        return Labels("batch {}", "versions", unbounded_scope="all versions")

    @property
    def column(self) -> Column:
        """Return the cursor of a table that has one."""
        assert self.cursor is not None
        return self.cursor

    @property
    def look_back(self) -> int:
        """Return seconds for a time; for numbers, which the server orders, only the newest one is read again."""
        if self.settings.look_back is not None:
            return self.settings.look_back
        return DEFAULT_LOOK_BACK if self.kind is ValueKind.TIMESTAMP else 0

    @property
    def reads_keys(self) -> bool:
        """Return whether all keys are read besides: a cursor does not show rows that left."""
        return self.needs.all_keys and self.cursor is not None

    @property
    def all_keys(self) -> ReadRequest:
        return self.table.from_source(None).only(self.needs.keys)

    @property
    def takes_current_rows(self) -> bool:
        """Return whether the first window also takes current rows that are older than it."""
        return self.settings.initial_load == "latest+window" and self.needs.current_rows is not None

    def value(self, text: object) -> Value:
        if text == ALL_VERSIONS.text:
            return ALL_VERSIONS
        try:
            return Value.of(text, self.kind)
        except ValueError as problem:
            raise ConfigError(f"{self.table.key}: {problem}.", UNTOUCHED, f"It is read by {self.divided_by}.") from None

    def inspect(self, sessions: Sessions, *, count_all: bool) -> CursorState:
        return inspect_table(self, sessions, count_all=count_all)

    def plan(self, state: CursorState, request: Request) -> tuple[Scope, list[Step]]:
        return plan(self.settings, state, request, self.look_back)

    def coverage(self, state: CursorState, scope: Scope) -> Coverage:
        return coverage_of(self.settings, state, scope)

    def extraction(self, state: CursorState, scope: Scope, step: Extract) -> Extraction:
        window = step.token_as(CursorWindow)
        rows = self._source_rows(window.after, window.upto, whole_scope=window.after == scope.floor)
        names = tuple(column.name for column in self.table.extracted_columns)
        return Extraction(
            self.table.from_source(rows),
            window,
            lookback=self._lookback_of(window) if self.cursor is not None else None,
            watched=() if self.cursor is not None else names,
            keys=self.all_keys if self.reads_keys else None,
            unchanged=None if self.table.source.reads_consistently else self._unchanged(rows),
            ranged=self.cursor.name if self.cursor is not None and rows is not None else "",
        )

    def given_token(self, least: str | None, greatest: str | None, read_at: str) -> CursorWindow:
        after = None
        with suppress(ValueError):
            after = None if least is None else Value.of(least, self.kind)
        return CursorWindow(after=after, read_at=read_at, is_given=True)

    def lookback_request(self, low: Value | None, high: Value | None = None) -> ReadRequest:
        """Return rows from a cursor value on, in the columns in which a change shows, also one in place."""
        names = dict.fromkeys((*self.needs.keys, self.column.name, *self.needs.watched))
        return self.table.from_source(cursors.between(self.column, low, high)).only(list(names))

    def _lookback_of(self, window: CursorWindow) -> ReadRequest:
        """Rows beyond the window's bound were not read, and must look new next time."""
        low = window.watermark.minus(self.look_back) if window.watermark is not None else None
        return self.lookback_request(low, window.upto)

    def _source_rows(self, low: Value | None, high: Value | None, *, whole_scope: bool) -> Sql | None:
        """Return rows of these cursor values; of the whole scope also current rows, where the settings take them."""
        if self.cursor is None:
            return None
        also = self.needs.current_rows if whole_scope and self.takes_current_rows else None
        return cursors.between(self.cursor, low, high, also)

    def _unchanged(self, rows: Sql | None) -> Sql:
        """Return the server's checksum of the rows: a count would not show a change in place."""
        return checksum(self.table.source.name, self.table.extracted_columns, rows)

    def source_request(self, window: Value) -> ReadRequest:
        return self.table.from_source(None)

    def target_request(self, window: Value) -> ReadRequest:
        return self.table.from_target(None)

    def loaded_rows(self, state: CursorState, scope: Scope) -> LoadedRows:
        # When the ledger is lost, the lake tells how far the table was read.
        upto = watermark_of((state.in_ledger or state.in_lake).values(), scope.floor)
        later = cursors.is_greater(self.cursor, upto) if self.cursor is not None and upto is not None else None
        return LoadedRows(
            inside=self.table.from_source(self._source_rows(scope.floor, upto, whole_scope=True)),
            later=self.table.from_source(later) if later is not None else None,
            keys=self.all_keys if self.reads_keys else None,
            newest=max(((name, state.ledger[name]) for name in state.in_ledger or state.ledger), default=(None, None))[
                1
            ],
        )

    def adopted_scope(self, state: CursorState) -> Scope:
        """Return the scope that a first run would set: what the target holds is brought in sync from there on."""
        return state.scope or Scope(state.floor)

    def status(self, planned: PlannedTable, state: CursorState) -> VersionsStatus:
        return status(planned, state)
