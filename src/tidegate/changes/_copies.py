"""The base of changes that copy the whole table: nobody asks what changed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.changes._retention import removals_beyond
from tidegate.errors import ConfigError, ForeignTarget
from tidegate.interfaces.change import Change, ChangeColumns, Extraction, LoadNeeds, Sessions
from tidegate.interfaces.lake import Entries
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.names import pluralize
from tidegate.model.plan import RELOAD, Extract, Load, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import LedgerEntry, SourceValue, TableState
from tidegate.model.tokens import ContentToken
from tidegate.model.values import Value, ValueKind
from tidegate.model.windows import WHOLE_TABLE as ALL
from tidegate.sql.contents import checksum, count_rows
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable


@dataclass(frozen=True)
class CopyState(TableState):
    """What lake, ledger and target hold of copies of a whole table."""

    next_window: Value = ALL
    """The window of a copy that is made now."""
    target_rows: int | None = None

    @property
    def newest(self) -> LedgerEntry | None:
        """Return the ledger entry of the newest copy that was loaded."""
        active = {window: entry for window, entry in self.ledger.items() if entry.is_active}
        return active[max(active)] if active else None

    @property
    def lost(self) -> str:
        """Return what the target lacks since the last load; an empty text for nothing."""
        expected = self.newest.target_rows if self.newest is not None else None
        if expected is None or (self.target_rows is not None and self.target_rows >= expected):
            return ""
        return f"the target holds {self.target_rows or 0:,} of {expected:,} rows"


@dataclass(frozen=True)
class CopyChange(Change[CopyState]):
    """The change of one table that is copied as a whole."""

    loads = ("replace", "merge")
    why_no_target_retention = "every window is the whole table, and the next one would bring removed rows back"
    serial_loads = True
    takes_transform = True

    table: FoundTable
    settings: Any

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> CopyChange:
        return cls(table, settings)

    @property
    def divided_by(self) -> str:
        return "content"

    @abstractmethod
    def window(self, now: str) -> Value:
        """Return the window of a copy that is made at this time of the source's clock."""

    @abstractmethod
    def why_extract(self, state: CopyState) -> str:
        """Return why the table is copied now; an empty text when there is no need."""

    def value(self, text: object) -> Value:
        if text == ALL.text:
            return ALL
        raise ConfigError(
            f"{self.table.key}: the table is copied as a whole.", UNTOUCHED, "`tidegate run --reload` copies it again."
        )

    def inspect(self, sessions: Sessions, *, count_all: bool) -> CopyState:
        table = self.table
        ledger = sessions.ledger.entries(table.ledger_name) if sessions.ledger else {}
        copies = sessions.scope_copies(self.lake_table, table.ledger_name)
        found: Entries = sessions.lake.entries(self.lake_table, ledger)
        now, target_rows = sessions.both(
            sessions.source.now,
            lambda: (
                None if table.target is None else int(str(sessions.target.query(count_rows(table.target_name))[0][0]))
            ),
        )
        return CopyState(
            source={ALL: SourceValue()},
            lake=_by_value(found.by_window),
            target={} if target_rows is None else {ALL: target_rows},
            ledger=_by_value(ledger),
            scope=copies.known,
            scope_copies=copies,
            is_ours=bool(ledger) or copies.known is not None,
            columns_id=table.columns_id,
            storage_types=table.storage_types,
            target_lacks=table.target_lacks,
            superseded=found.superseded,
            next_window=self.window(now),
            target_rows=target_rows,
        )

    def plan(self, state: CopyState, request: Request) -> tuple[Scope, list[Step]]:
        self._refuse_a_target_that_was_there_before(state, request)
        why = RELOAD if request.reload_all or request.reload else self.why_extract(state)
        window = state.next_window
        if why:
            last = state.ledger.get(window)
            old = state.lake.get(window)
            extract = Extract(window, why, replaces=old.etag if old is not None else "")
            # A copy with the rows that the target is known to have is not loaded again.
            unless = "" if state.lost or last is None or not last.is_active else last.hash
            load = Load(window, why, last.generation + 1 if last else 1, unless_hash=unless)
            return Scope(), [extract, load, *self._removals(state, window, request)]
        return Scope(), [*self._loads(state), *self._removals(state, None, request)]

    def _loads(self, state: CopyState) -> list[Step]:
        """Return the load of the newest copy, where the target lacks it."""
        usable = [window for window, entry in state.lake.items() if not entry.broken]
        if not usable:
            return []
        window, entry = max(usable), state.lake[max(usable)]
        last = state.ledger.get(window)
        is_loaded = last is not None and last.is_active and last.hash == entry.hash
        why = state.lost or ("" if is_loaded else "in the lake, not in the target")
        return [Load(window, why, last.generation + 1 if last else 1, entry.rows)] if why else []

    def _removals(self, state: CopyState, coming: Value | None, request: Request) -> list[Step]:
        """Return removals of copies beyond `retain: {lake: N}`."""
        known = {*state.lake, *([coming] if coming is not None else [])}
        return removals_beyond(self.settings.retain.lake, request, known, state.lake)

    def _refuse_a_target_that_was_there_before(self, state: CopyState, request: Request) -> None:
        known = state.is_ours or state.ledger or not state.target_rows
        if known or self.settings.on_target_change == "restore" or request.reload_all:
            return
        raise ForeignTarget(
            f"The target holds {pluralize(state.target_rows or 0, 'row')} that no ledger knows.",
            "Nothing was written.",
            "`tidegate adopt` takes them over; `tidegate run --reload` loads the table over them.",
        )

    def extraction(self, state: CopyState, scope: Scope, step: Extract) -> Extraction:
        total = checksum(self.table.source.name, self.table.extracted_columns)
        return Extraction(
            self.table.from_source(None),
            ContentToken(),
            unchanged=None if self.table.source.reads_consistently else total,
        )

    def source_request(self, window: Value) -> ReadRequest:
        return self.table.from_source(None)

    def target_request(self, window: Value) -> ReadRequest:
        return self.table.from_target(None)

    def adopted_scope(self, state: CopyState) -> Scope:
        return state.scope or Scope()


def _by_value(found: Mapping[str, Any]) -> dict[Value, Any]:
    return {Value.of(text, ValueKind.TEXT): entry for text, entry in found.items()}
