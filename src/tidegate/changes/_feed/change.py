"""The base of changes that are told by a change feed: the first window is the whole table, later ones its changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

from tidegate.buckets.assign import buckets_for
from tidegate.changes._feed.reader import WindowReader
from tidegate.changes._feed.rotation import Rotation
from tidegate.changes._feed.settings import FeedSettings
from tidegate.changes._feed.state import FeedTableState
from tidegate.changes._feed.status import status
from tidegate.changes._retention import removals_beyond
from tidegate.errors import ConfigError, FeedLost, ForeignTarget, Unsupported
from tidegate.interfaces.change import Change, ChangeColumns, Extraction, LoadNeeds, Sessions
from tidegate.interfaces.database import Database
from tidegate.interfaces.feed import Feed, FeedState, FeedTable, TableFeed
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import MappedTable, TableName, pluralize
from tidegate.model.plan import RELOAD, Extract, Labels, Load, Notice, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry, SourceValue
from tidegate.model.status import VersionsStatus
from tidegate.model.tokens import FeedWindow
from tidegate.model.values import Value, ValueKind
from tidegate.model.windows import WHOLE_TABLE as ALL
from tidegate.settings import Settings
from tidegate.sql.contents import checksum, count_rows
from tidegate.sql.text import Name, sql
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable
from tidegate.tables.planned import PlannedTable

OTHER_COLUMNS = "it was extracted with other columns"
AnyEntry = TypeVar("AnyEntry", LakeEntry, LedgerEntry)


@dataclass(frozen=True)
class FeedChange(Change[FeedTableState]):
    """The change of one table that is told by a change feed."""

    Settings: ClassVar[type[Settings]] = FeedSettings
    loads: ClassVar[tuple[str, ...]] = ("merge", "apply_changes", "scd2")
    why_no_target_retention = "a change feed tells when a row leaves, and its age is no reason; `where` leaves rows out"
    serial_loads = True  # what was read later has the last word
    brings_changes = True
    reads_feed = True
    takes_transform = True

    table: FoundTable
    settings: Any
    feed: Feed
    feed_table: FeedTable
    needs: LoadNeeds

    @classmethod
    def feed_of(cls, settings: Any, source: Database, target: Database) -> Feed:
        """Return the feed. Raises Unsupported for a database that has none of this kind."""
        feed = source.feed(cls.name, settings.feed_name or default_name(target))
        if feed is None:
            raise Unsupported(
                f"{settings.name}: {source.label} has no change feed `{cls.name}`.",
                UNTOUCHED,
                "Use `changes: hybrid` or `timestamp`, which ask the table itself.",
            )
        return feed

    @classmethod
    def columns(cls, settings: Any, source: TableSchema, catalogs: Catalogs) -> ChangeColumns:
        return ChangeColumns(feed=True, keep_types=settings.keys or source.primary_key)

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> FeedChange:
        feed = cls.feed_of(settings, catalogs.source.database, catalogs.target.database)
        images = (settings.mode or ("images" if needs.images and feed.has_images else "keys")) == "images"
        if images and not feed.has_images:
            raise Unsupported(
                f"{settings.name}: {feed.label} tells keys only, `mode: images` needs values.",
                UNTOUCHED,
                "Use `mode: keys`.",
            )
        by_name = {column.name: column for column in table.extracted_columns}
        missing = [name for name in needs.keys if name not in by_name]
        if missing or not needs.keys:
            raise Unsupported(
                f"{settings.name}: nothing names a row of {table.source.name}, so its changes cannot be applied.",
                UNTOUCHED,
                "Name `keys`, or add a primary key.",
            )
        request = table.from_source(None)
        keys = tuple(by_name[name] for name in needs.keys)
        name = _name_in_log(settings, table, request.columns if images else keys, catalogs, images=images)
        told = FeedTable(
            *(name, request.columns, keys, request.text_columns, request.batch, images),
            truncates=images and needs.images,
        )
        return cls(table, settings, feed, told, needs)

    @property
    def lake_table(self) -> LakeTable:
        return LakeTable(self.table.lake_name, Layout.LOG, "changes")

    @property
    def divided_by(self) -> str:
        return self.feed.label

    @property
    def labels(self) -> Labels:
        return Labels("window {}", "rows", unbounded_scope="all rows")

    def table_feed(self, state: FeedTableState | None) -> TableFeed:
        if state is None:
            return TableFeed(self.feed, self.feed_table)
        read_at = state.last.read_at if state.last is not None else ""
        return TableFeed(self.feed, self.feed_table, state.position, state.feed, read_at)

    def value(self, text: object) -> Value:
        if text == ALL.text:
            return ALL
        raise ConfigError(
            f"{self.table.key}: the table is read from a change feed, not by values.",
            UNTOUCHED,
            "`tidegate run --reload` reads all of it again.",
        )

    # Inspect

    def inspect(self, sessions: Sessions, *, count_all: bool) -> FeedTableState:
        table = self.table
        ledger = sessions.ledger.entries(table.ledger_name) if sessions.ledger else {}
        copies = sessions.scope_copies(self.lake_table, table.ledger_name)
        entries = _by_value(sessions.lake.entries(self.lake_table, ledger).by_window)
        entries = {name: _with_changes(entry) for name, entry in entries.items()}
        loaded = _by_value(ledger)
        state_so_far = FeedTableState(
            source={ALL: SourceValue()},
            lake=entries,
            target={},
            ledger=loaded,
            scope=copies.known,
            scope_copies=copies,
            is_ours=bool(ledger) or copies.known is not None,
            columns_id=table.columns_id,
            storage_types=table.storage_types,
            target_lacks=table.target_lacks,
            in_lake=_windows({name: entry for name, entry in entries.items() if not entry.broken}),
            in_ledger=_windows({name: entry for name, entry in loaded.items() if entry.kind == "loaded"}),
            next_window=_next_window([*loaded, *entries]),
        )
        state, target_rows = sessions.both(
            lambda: self._with_feed(sessions, state_so_far), lambda: sessions.target_rows(self.table)
        )
        if count_all:
            state = replace(state, source={ALL: SourceValue(self._count_source(sessions))})
        return state if target_rows is None else replace(state, target={ALL: target_rows}, target_rows=target_rows)

    def _with_feed(self, sessions: Sessions, state: FeedTableState) -> FeedTableState:
        problems = tuple(self.feed.problems(sessions.source, self.feed_table))
        if any(problem.severity == "error" for problem in problems):
            return replace(state, problems=problems)
        last = state.last
        snapshot = last.snapshot if last is not None and last.whole else ""
        found = self.feed.state(sessions.source, self.feed_table, state.position, snapshot)
        return replace(state, feed=found, problems=problems)

    def _count_source(self, sessions: Sessions) -> int:
        return int(str(sessions.source.query(count_rows(self.table.source.name))[0][0]))

    # Plan

    def plan(self, state: FeedTableState, request: Request) -> tuple[Scope, list[Step]]:
        self._refuse_a_target_that_was_there_before(state, request)
        extracts = self._extracts(state, request)
        loads = list(self._loads(state, extracts))
        return Scope(), [*extracts, *loads, *self._removals(state, extracts, request), *self._notices(state)]

    def _extracts(self, state: FeedTableState, request: Request) -> list[Extract]:
        feed, position = self._readable(state), state.position
        why = self._why_whole(state, feed, request)
        assert state.next_window is not None
        if why:
            first, again = feed.first, why if position is not None else ""
            window = self._window(upto=first.order, detail=first.detail, whole=True, why=again)
            earlier = self._changes(state, feed) if why in (OTHER_COLUMNS, feed.untold) and self.needs.images else []
            name = Value.of(f"{state.next_window.text}-w", ValueKind.TEXT) if earlier else state.next_window
            return [*earlier, Extract(name, why, token=window)]
        return self._changes(state, feed)

    def _changes(self, state: FeedTableState, feed: FeedState) -> list[Extract]:
        """Return the extract of what changed since the last window; empty where nothing did."""
        position = state.position
        assert position is not None and state.next_window is not None
        if feed.changes == 0 or feed.now.order <= position.order:
            return []
        window = self._window(after=position.order, upto=feed.now.order, detail=feed.now.detail)
        told = "changes" if feed.changes is None else pluralize(feed.changes, "change")
        return [Extract(state.next_window, f"{told} in the feed", token=window)]

    def _window(self, **fields: Any) -> FeedWindow:
        return FeedWindow(feed=self.feed.id, mode="images" if self.feed_table.images else "keys", **fields)

    def _readable(self, state: FeedTableState) -> FeedState:
        """Return where the feed is. Raises Unsupported with the statements that mend it."""
        if state.feed is not None:
            return state.feed
        errors = [problem for problem in state.problems if problem.severity == "error"]
        statements = dict.fromkeys(statement for problem in errors for statement in problem.statements)
        raise Unsupported(
            f"{self.table.key}: {'; '.join(problem.text for problem in errors)}.",
            UNTOUCHED,
            "\n".join(["First run:", *statements]) if statements else "",
        )

    def _why_whole(self, state: FeedTableState, feed: FeedState, request: Request) -> str:
        """Return why the whole table is read; an empty text where its changes are. Raises FeedLost."""
        position, last = state.position, state.last
        if request.reload_all or request.reload:
            return RELOAD
        if position is None or last is None:
            return "missing in the lake" if state.in_ledger else "new in the source"
        # Of a table that was never loaded nothing is lost: it is read anew.
        if feed.lost and (request.resync or not state.in_ledger):
            return f"resync: {feed.lost}"
        if feed.lost:
            raise FeedLost(
                f"{self.table.key}: {feed.lost}: what changed since {position} cannot be read from the feed.",
                "Nothing was read; the target keeps what it had.",
                "`tidegate run --resync` reads the whole table again and goes on from now.",
            )
        if last.feed != self.feed.id:
            return f"it was read from another feed ({last.feed})"
        if feed.truncated and not self.feed_table.truncates:
            return "truncated in the source"
        if feed.untold:
            return feed.untold
        rotation = state.rotation
        if rotation is not None and (rotation.missing or (rotation.differing and self._restores)):
            return str(rotation)
        newest = state.lake.get(state.log[-1]) or state.ledger[state.log[-1]]
        if state.has_other_columns(newest):
            return OTHER_COLUMNS
        in_lake = [name for name in state.log if name in state.in_lake]
        if state.lost_rows and in_lake != state.log:
            return f"{state.lost_rows}, and the lake lacks windows"
        kept = self.settings.retain.lake
        if kept is None and in_lake != state.log:
            return "missing in the lake"
        return ""

    def _loads(self, state: FeedTableState, extracts: Sequence[Extract]) -> Iterator[Load]:
        """Yield the loads of windows that the target lacks, in the order of the log."""
        begins_anew = any(isinstance(extract.token, FeedWindow) and extract.token.whole for extract in extracts)
        if not begins_anew or self.needs.images:
            for name in state.log:
                if name not in state.in_lake:
                    continue
                why = state.lost_rows or ("" if name in state.in_ledger else "in the lake, not in the target")
                if why:
                    yield Load(name, why, self._generation(state, name), state.lake[name].rows)
        for extract in extracts:
            yield Load(extract.value, extract.why, self._generation(state, extract.value), extract.rows)

    def _generation(self, state: FeedTableState, window: Value) -> int:
        entry = state.ledger.get(window)
        return entry.generation + 1 if entry is not None else 1

    def _removals(self, state: FeedTableState, extracts: Sequence[Extract], request: Request) -> list[Step]:
        """Return removals of loaded entries beyond `retain: {lake: N}`."""
        known = {*state.lake, *(extract.value for extract in extracts)}
        return removals_beyond(self.settings.retain.lake, request, known, {*state.lake} & {*state.in_ledger})

    def _notices(self, state: FeedTableState) -> Iterator[Notice]:
        for problem in state.problems:
            yield Notice(_with_statements(problem.text, problem.statements), severity="warning")
        if state.feed is not None:
            yield from (Notice(text) for text in state.feed.notices)
            yield from (Notice(text, severity="warning") for text in state.feed.warnings)
        if state.rotation is not None and state.rotation.found_something:
            yield Notice(self._past_the_feed(state.rotation), severity="warning")

    def _past_the_feed(self, rotation: Rotation) -> str:
        heals = bool(rotation.missing) or self._restores
        remedy = "the whole table is read" if heals else f"`tidegate repair {self.table.key}` reads the whole table"
        return f"{rotation}: somebody changed the target, or the source by {self.feed.bypassed_by}; {remedy}"

    @property
    def _restores(self) -> bool:
        return bool(self.settings.on_target_change == "restore")

    def _refuse_a_target_that_was_there_before(self, state: FeedTableState, request: Request) -> None:
        known = state.is_ours or state.ledger or not state.target_rows
        if known or self.settings.on_target_change == "restore" or request.reload_all:
            return
        raise ForeignTarget(
            f"The target holds {pluralize(state.target_rows or 0, 'row')} that no ledger knows.",
            "Nothing was written.",
            "`tidegate run --reload` loads the table over them: rows that the source lacks leave.",
        )

    # Extract

    def extraction(self, state: FeedTableState, scope: Scope, step: Extract) -> Extraction:
        window = step.token_as(FeedWindow)
        request = self.table.from_source(None)
        if window.whole:
            total = checksum(self.table.source.name, self.table.extracted_columns)
            unchanged = None if self.table.source.reads_consistently else total
            return Extraction(request, window, fingerprint=self.feed.snapshot_query(), unchanged=unchanged)
        position, last = state.position, state.last
        assert position is not None and last is not None
        changes = state.feed.changes if state.feed is not None else None
        reader = WindowReader(
            self.feed,
            self.feed_table,
            window,
            position.order,
            position.detail,
            last.snapshot if last.whole else "",
            buckets_for(changes),
        )
        return Extraction(request, window, feed=reader)

    # Windows on both sides, for comparisons

    def source_request(self, window: Value) -> ReadRequest:
        return self.table.from_source(None)

    def target_request(self, window: Value) -> ReadRequest:
        return self.table.from_target(None).only([column.name for column in self.table.extracted_columns])

    def adopted_scope(self, state: FeedTableState) -> Scope:
        return state.scope or Scope()

    def status(self, planned: PlannedTable, state: FeedTableState) -> VersionsStatus:
        return status(planned, state)


def _name_in_log(
    settings: Any, table: FoundTable, told: Sequence[Column], catalogs: Catalogs, *, images: bool
) -> TableName:
    """Return the table's own name. Raises Unsupported where the log has other names, values or rows than are copied."""
    name = table.source.name
    if not isinstance(name, MappedTable):
        return name
    render = catalogs.source.database.render
    plain = {here for expression, here in name.columns if expression == render(sql("{it}", it=Name.of(here)))}
    odd = [column.name for column in told if column.name not in plain]
    if odd or (images and name.where):
        what = f"{', '.join(odd)} {'is' if len(odd) == 1 else 'are'} copied in another way" if odd else "it has `where`"
        raise Unsupported(
            f"{settings.name}: {what}, and the log of the source tells names and values of its own.",
            UNTOUCHED,
            "Use `mode: keys`." if images else "Copy the columns of the key under their own names and types.",
        )
    return name.base


def default_name(target: Database) -> str:
    """Return how a project calls what its feeds make on the server: slots take lower case letters, digits and _."""
    name = re.sub(r"[^a-z0-9_]+", "_", target.connection.database.lower()).strip("_")
    return f"tidegate_{name}"[:60]


def _with_statements(text: str, statements: tuple[str, ...]) -> str:
    return f"{text}: {' '.join(statements)}" if statements else text


def _by_value(found: Mapping[str, AnyEntry]) -> dict[Value, AnyEntry]:
    return {Value.of(text, ValueKind.TEXT): entry for text, entry in found.items()}


def _windows(entries: Mapping[Value, AnyEntry]) -> dict[Value, FeedWindow]:
    tokens = {name: entry.token for name, entry in entries.items()}
    return {name: token for name, token in tokens.items() if isinstance(token, FeedWindow)}


def _with_changes(entry: LakeEntry) -> LakeEntry:
    """Return an entry of changes as broken when the changes are missing: only they tell which keys are gone."""
    window = entry.token
    if entry.broken or not isinstance(window, FeedWindow) or window.whole or entry.has_keys:
        return entry
    return replace(entry, broken="the file with its changes is missing")


def _next_window(known: list[Value]) -> Value:
    """Return the time now, to the second, and later than every window that is known."""
    now = Value.of(f"{datetime.now(UTC):%Y-%m-%d-%H-%M-%S}", ValueKind.TEXT)
    last = max(known, default=None)
    return now if last is None or now > last else Value.of(f"{last.text}-1", ValueKind.TEXT)
