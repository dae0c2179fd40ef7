"""The base of incremental changes: a table is read by its cursor, in windows that follow on one another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from tidegate.changes._incremental.inspect import inspect_table
from tidegate.changes._incremental.plan import plan
from tidegate.changes._incremental.state import IncrementalState
from tidegate.changes._incremental.status import status
from tidegate.changes._watermarks import watermark_of
from tidegate.errors import ConfigError, Unsupported
from tidegate.interfaces.change import Change, ChangeColumns, Extraction, LoadedRows, LoadNeeds, Sessions
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.columns import Column, TableSchema
from tidegate.model.cursors import Cursor, CursorNames
from tidegate.model.plan import Extract, Labels, Notice, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.status import VersionsStatus
from tidegate.model.tokens import IncrementalWindow
from tidegate.model.values import Value, ValueKind
from tidegate.model.windows import WHOLE_TABLE
from tidegate.settings import Settings
from tidegate.sql import watermarks
from tidegate.sql.contents import checksum
from tidegate.sql.text import Sql
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable, named_column
from tidegate.tables.planned import PlannedTable

NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL)
TIMES = (ValueKind.TIMESTAMP, ValueKind.DATE)
DEFAULT_LOOK_BACK = 600


@dataclass(frozen=True)
class IncrementalChange(Change[IncrementalState]):
    """The change of one table that is read by a cursor which grows with every change."""

    Settings: ClassVar[type[Settings]]
    loads: ClassVar[tuple[str, ...]] = ("merge", "append", "replace", "scd2")
    why_no_target_retention = "a row stays in its table however long ago it changed; `where` leaves rows out"
    serial_loads = True  # what was read later has the last word
    brings_changes = True
    takes_transform = True
    cursor_kinds: ClassVar[tuple[ValueKind, ...]] = TIMES
    cursor_setting: ClassVar[str] = "timestamp_column"
    counts_commits: ClassVar[bool] = False
    """The cursor's clock is the greatest value below which no transaction is open: none has to be waited for."""

    table: FoundTable
    settings: Any
    cursor: Cursor
    kind: ValueKind
    needs: LoadNeeds
    default_look_back: int = 0
    """In units of the cursor, unless the settings say it."""

    @classmethod
    def columns(cls, settings: Any, source: TableSchema, catalogs: Catalogs) -> ChangeColumns:
        cursor = cls._cursor(settings, source)
        kind_of = catalogs.source.database.value_kind
        kinds = {kind_of(column) for column in cursor.columns}
        wrong = [column for column in cursor.columns if kind_of(column) not in cls.cursor_kinds]
        if wrong or len(kinds) > 1:
            column = wrong[0] if wrong else cursor.columns[1]
            raise Unsupported(
                f"{settings.name}: {column.name} is {column.type}, which cannot be a cursor of `changes: {cls.name}`"
                + ("." if wrong else f" together with {cursor.columns[0].name} ({cursor.type})."),
                UNTOUCHED,
                f"Name {_IN_WORDS[cls.cursor_kinds]} as `{cls.cursor_setting}`.",
            )
        return ChangeColumns(
            by=cursor.columns[0] if len(cursor.columns) == 1 and cursor.is_extracted else None,
            keep_types=cursor.names,
            cursor=cursor,
            tie_breaker=cls._tie_breaker(settings, source),
        )

    @classmethod
    def _cursor(cls, settings: Any, source: TableSchema) -> Cursor:
        """Return the cursor with the columns of `null_cursor: coalesce(...)` behind its own."""
        chosen = CursorNames.parse(getattr(settings, cls.cursor_setting))
        columns = [named_column(settings, source, name, cls.cursor_setting) for name in chosen.names]
        if settings.null_cursor.startswith("coalesce"):
            if chosen.combined == "greatest":
                raise ConfigError(
                    f"{settings.name}: `greatest(...)` passes over nulls by itself.",
                    UNTOUCHED,
                    "Name the column inside of `greatest(...)` and leave out `null_cursor`.",
                )
            others = CursorNames.parse(settings.null_cursor).names
            columns += [named_column(settings, source, name, "null_cursor") for name in others]
        return Cursor(tuple(dict.fromkeys(columns)), chosen.combined)

    @classmethod
    def _tie_breaker(cls, settings: Any, source: TableSchema) -> Column | None:
        return None

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> IncrementalChange:
        assert columns.cursor is not None
        cursor = columns.cursor
        kind = catalogs.source.database.value_kind(cursor.columns[0])
        assert kind is not None
        missing = [name for name in cursor.names if name not in {column.name for column in table.columns}]
        if missing and cursor.is_extracted:
            raise Unsupported(
                f"{settings.name}: the target computes {', '.join(missing)}, by which rows are read.",
                UNTOUCHED,
                "Make it an ordinary column in the target, or load into another table with `target_table`.",
            )
        plain = [column.name for column in cursor.columns if not table.source.has_index_on(column.name)]
        if plain:
            text = f"no index of the source starts with {', '.join(plain)}: every run scans the table"
            table = replace(table, notices=(*table.notices, Notice(text)))
        return cls(table, settings, cursor, kind, needs)

    @property
    def lake_table(self) -> LakeTable:
        return LakeTable(self.table.lake_name, Layout.LOG, "incremental")

    @property
    def divided_by(self) -> str:
        return str(self.cursor)

    @property
    def labels(self) -> Labels:
        return Labels("window {}", "rows", unbounded_scope="all rows")

    @property
    def look_back(self) -> int:
        """Return seconds for a time. Of numbers only the newest is read again."""
        if self.settings.look_back is not None:
            return int(self.settings.look_back)
        return DEFAULT_LOOK_BACK if self.kind is ValueKind.TIMESTAMP else self.default_look_back

    def before(self, watermark: Value, clock: Value | None) -> Value:
        """Return where reading starts. A clock that was set back may bring rows below the watermark, and so does the
        hour that comes twice in a zone with summer time."""
        start = watermark if clock is None or clock > watermark else clock
        return start.minus(self.look_back + self._repeated_seconds(start, clock))

    def _repeated_seconds(self, start: Value, clock: Value | None) -> int:
        """Return by how much local time was set back since this moment, where the zone is known."""
        zone = getattr(self.settings, "cursor_zone", None)
        if zone is None or clock is None or self.kind is not ValueKind.TIMESTAMP:
            return 0
        try:
            then, now = (datetime.fromisoformat(value.text).replace(tzinfo=ZoneInfo(zone)) for value in (start, clock))
        except ValueError:  # a year BC, or infinity
            return 0
        first, last = then.utcoffset(), now.replace(fold=1).utcoffset()
        assert first is not None and last is not None
        return max(int((first - last) / timedelta(seconds=1)), 0)

    @property
    def all_keys(self) -> ReadRequest:
        return self.table.from_source(None).only(self.needs.keys)

    def value(self, text: object) -> Value:
        if text == WHOLE_TABLE.text:
            return WHOLE_TABLE
        try:
            return Value.of(text, self.kind)
        except ValueError as problem:
            raise ConfigError(f"{self.table.key}: {problem}.", UNTOUCHED, f"It is read by {self.divided_by}.") from None

    def inspect(self, sessions: Sessions, *, count_all: bool) -> IncrementalState:
        return inspect_table(self, sessions, count_all=count_all)

    def plan(self, state: IncrementalState, request: Request) -> tuple[Scope, list[Step]]:
        return plan(self.settings, state, request, self.before, all_rows=self.needs.all_rows)

    def extraction(self, state: IncrementalState, scope: Scope, step: Extract) -> Extraction:
        window = step.token_as(IncrementalWindow)
        rows = None if self.needs.all_rows else self._rows(window.after, window.upto, with_missing=bool(state.nulls))
        low = window.all_before.minus(self.look_back) if window.all_before is not None else None
        return Extraction(
            self.table.from_source(rows),
            window,
            # Rows beyond the window's bound were not read, and must look new next time.
            lookback=self.lookback_request(low, window.upto),
            keys=self.all_keys if self.needs.all_keys else None,
            unchanged=None if self.table.source.reads_consistently else self._unchanged(rows),
            ranged=self.cursor.names[0] if rows is not None and len(self.cursor.columns) == 1 else "",
        )

    def given_token(self, least: str | None, greatest: str | None, read_at: str) -> IncrementalWindow:
        if self.needs.all_rows:
            raise Unsupported(
                f"{self.table.key}: every window replaces all rows of this table, so it takes none from a program.",
                "Nothing was written.",
                "Use `load: merge` or `load: append`.",
            )
        after, upto = (None if text is None else self.value(text) for text in (least, greatest))
        return IncrementalWindow(after=after, upto=upto, read_at=read_at, is_given=True)

    def _unchanged(self, rows: Sql | None) -> Sql:
        """Return the server's checksum of the rows: a count would not show a change in place."""
        return checksum(self.table.source.name, self.table.extracted_columns, rows)

    def _rows(self, low: Value | None, high: Value | None, *, with_missing: bool) -> Sql | None:
        if high is None:
            return watermarks.is_missing(self.cursor) if with_missing else None
        return watermarks.between(self.cursor, low, high, with_missing=with_missing)

    def lookback_request(self, low: Value | None, high: Value | None) -> ReadRequest:
        """Return rows whose content tells whether something changed below the watermark.

        Rows without a cursor value belong to them: as many may have left as came."""
        has_missing = self.cursor.nullable and self.settings.null_cursor == "once"
        return self.table.from_source(watermarks.between(self.cursor, low, high, with_missing=has_missing))

    # Windows on both sides, for comparisons

    def source_request(self, window: Value) -> ReadRequest:
        return self.table.from_source(None)

    def target_request(self, window: Value) -> ReadRequest:
        return self.table.from_target(None)

    def loaded_rows(self, state: IncrementalState, scope: Scope) -> LoadedRows:
        """Return the rows that were there when the newest window was read."""
        # When the ledger is lost, the lake tells how far the table was read.
        windows = (state.in_ledger or state.in_lake).values()
        upto = max((window.upto for window in windows if window.upto is not None), default=None)
        newest = max(((name, state.ledger[name]) for name in state.in_ledger or state.ledger), default=(None, None))[1]
        later = None
        if upto is not None and state.newest is not None and state.newest > upto:
            later = self.table.from_source(watermarks.later_than(self.cursor, upto))
        inside = self._rows(None, upto, with_missing=bool(state.nulls)) if upto is not None else None
        return LoadedRows(self.table.from_source(inside), later, self.all_keys if self.needs.all_keys else None, newest)

    def adopted_scope(self, state: IncrementalState) -> Scope:
        return state.scope or Scope()

    def watermark(self, state: IncrementalState) -> Value | None:
        """Return how far the target is synced."""
        return watermark_of(state.in_ledger.values(), None)

    def status(self, planned: PlannedTable, state: IncrementalState) -> VersionsStatus:
        return status(planned, state, self.watermark(state))


_IN_WORDS: dict[tuple[ValueKind, ...], str] = {
    TIMES: "a column of a date or timestamp type",
    NUMBERS: "a column of an integer or decimal type",
}
