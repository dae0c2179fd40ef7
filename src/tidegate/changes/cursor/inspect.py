"""Inspect a table that is read by a cursor: how far lake and ledger reach, and what the source has from there on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tidegate.changes._zones import clock_of
from tidegate.changes.cursor.plan import CursorState, without_other_counters
from tidegate.errors import Unsupported
from tidegate.hashing.receipts import receipt_of
from tidegate.interfaces.change import Sessions
from tidegate.interfaces.lake import Lake
from tidegate.interfaces.session import Session
from tidegate.model.scope import ScopeCopies
from tidegate.model.state import LakeEntry, LedgerEntry, SourceValue
from tidegate.model.tokens import CursorWindow, with_keys
from tidegate.model.values import Value, ValueKind
from tidegate.model.windows import ALL_VERSIONS as ALL
from tidegate.sql import cursors, partitions
from tidegate.sql.contents import count_rows
from tidegate.tables.found import UNTOUCHED

if TYPE_CHECKING:
    from tidegate.changes.cursor import CursorChange

SECONDS_OF_A_DAY = 86_400


def inspect_table(change: CursorChange, sessions: Sessions, *, count_all: bool = False) -> CursorState:
    ledger = sessions.ledger.entries(change.table.ledger_name) if sessions.ledger else {}
    copies = sessions.scope_copies(change.lake_table, change.table.ledger_name)
    of_source = _whole_source if change.cursor is None else _by_cursor
    # Counting the target takes longest, so lake and source are inspected meanwhile.
    state, target_rows = sessions.both(
        lambda: of_source(change, sessions.source, _lake_and_ledger(change, sessions.lake, ledger, copies)),
        lambda: _count_target(change, sessions.target),
    )
    if count_all:
        state = _with_older_rows(change, sessions.source, state)
    return state if target_rows is None else replace(state, target={ALL: target_rows}, target_rows=target_rows)


def _with_older_rows(change: CursorChange, source: Session, state: CursorState) -> CursorState:
    """Return the state with the number of rows that are older than the scope."""
    floor = state.scope.floor if state.scope is not None else state.floor
    if change.cursor is None or floor is None:
        return state
    current = change.needs.current_rows if change.takes_current_rows else None
    question = cursors.count_older(change.table.source.name, change.cursor, floor, current)
    in_source, older = source.query(question)[0]
    return replace(state, in_source=int(str(in_source)), older=int(str(older)))


def _lake_and_ledger(
    change: CursorChange, lake: Lake, ledger: dict[str, LedgerEntry], copies: ScopeCopies
) -> CursorState:
    """Return what lake and ledger say, before the source is asked."""
    table = change.table
    loaded = {Value.of(text, ValueKind.TEXT): entry for text, entry in ledger.items()}
    entries = {
        Value.of(text, ValueKind.TEXT): _with_keys(change, entry)
        for text, entry in lake.entries(change.lake_table, ledger).by_window.items()
    }
    windows = {name: entry.token for name, entry in entries.items() if not entry.broken}
    usable = {name: window for name, window in windows.items() if isinstance(window, CursorWindow)}
    return CursorState(
        source={ALL: SourceValue()},
        lake=entries,
        target={},
        ledger=loaded,
        scope=copies.known,
        scope_copies=copies,
        is_ours=bool(loaded) or copies.known is not None,
        columns_id=table.columns_id,
        storage_types=table.storage_types,
        target_lacks=table.target_lacks,
        in_lake={name: window for name, window in usable.items() if not window.is_given},
        # An adopted target says nothing about a watermark.
        in_ledger={
            name: entry.token
            for name, entry in loaded.items()
            if entry.kind == "loaded" and isinstance(entry.token, CursorWindow)
        },
        given={name: window for name, window in usable.items() if window.is_given},
        next_window=_next_window([name for name in (*loaded, *entries) if name != ALL]),
        order_matters=change.needs.order_matters,
    )


def _with_keys(change: CursorChange, entry: LakeEntry) -> LakeEntry:
    """Return an entry that was read with all keys as broken when they are missing."""
    window = entry.token
    was_read = not entry.broken and isinstance(window, CursorWindow) and window.keys_read_at is not None
    if not was_read or not change.reads_keys or entry.has_keys:
        return entry
    return replace(entry, broken="the file with its keys is missing")


def _count_target(change: CursorChange, target: Session) -> int | None:
    return None if change.table.target is None else _number(target.query(count_rows(change.table.target_name)))


def _by_cursor(change: CursorChange, source: Session, state: CursorState) -> CursorState:
    clock = _clock(change, source)
    if clock is not None and change.kind is ValueKind.INTEGER:  # row versions, which a database counts for itself
        state = without_other_counters(state, clock)
    floor = _floor(change, clock)
    last = max(state.in_lake.items(), default=None)
    low = last[1].watermark.minus(change.look_back) if last is not None and last[1].watermark is not None else floor
    newest, newest_past, rows = _newest(change, source, clock, low)
    text_columns, fingerprint = state.lake[last[0]].text_columns if last is not None else (), ""
    # Where there are later cursor values no content has to be compared to know that there is news.
    if last is not None and not _is_later(newest, last[1].upto):
        receipt = receipt_of(source, change.lookback_request(low).with_text(text_columns))
        rows, fingerprint = receipt.rows, receipt.as_text()
        if change.reads_keys:
            fingerprint = with_keys(fingerprint, receipt_of(source, change.all_keys.with_text(text_columns)))
    is_first = not state.ledger and not state.lake
    older = _older_current_rows(change, source, floor) if is_first else 0
    return replace(
        state,
        nulls=_count_nulls(change, source),
        newest=newest,
        newest_past=newest_past,
        # A number knows no clock: by the greatest of them.
        keys_read_at=(clock or newest_past) if change.reads_keys else None,
        lookback_fingerprint=fingerprint,
        floor=floor,
        rows=rows + older if change.takes_current_rows else rows,
        current_left_out=0 if change.takes_current_rows else older,
    )


def _is_later(newest: Value | None, than: Value | None) -> bool:
    return newest is not None and than is not None and newest > than


def _whole_source(change: CursorChange, source: Session, state: CursorState) -> CursorState:
    last = max(state.in_lake, default=None)
    text_columns = state.lake[last].text_columns if last is not None else ()
    receipt = receipt_of(source, change.table.from_source(None).with_text(text_columns))
    return replace(
        state, is_whole=True, newest=ALL, newest_past=ALL, lookback_fingerprint=receipt.as_text(), rows=receipt.rows
    )


def _clock(change: CursorChange, source: Session) -> Value | None:
    return clock_of(source, change.column, change.kind, change.settings.cursor_zone)


def _newest(
    change: CursorChange, source: Session, clock: Value | None, low: Value | None
) -> tuple[Value | None, Value | None, int]:
    """Return the greatest cursor value, the greatest not in the future, and how many rows there are from `low` on."""
    indexed = change.table.source.has_index_on(change.column.name)
    question = cursors.greatest_cursors(change.table.source.name, change.column, clock, low, indexed=indexed)
    *texts, rows = source.query(question)[0]
    newest, settled = (None if text is None else _cursor(change, text) for text in texts)
    return newest, settled, int(str(rows))


def _cursor(change: CursorChange, text: object) -> Value:
    try:
        return Value.of(text, change.kind)
    except ValueError as problem:
        raise Unsupported(
            f"{change.table.key}: {change.table.source.name} has rows whose {change.column.name} cannot be a cursor:"
            f" {problem}.",
            UNTOUCHED,
            "Correct these rows, or name another `cursor_column`.",
        ) from None


def _floor(change: CursorChange, clock: Value | None) -> Value | None:
    """Return where a first run begins: so many days back on the source's clock. None for everything: rows that come
    late with a cursor value before all others belong to everything too."""
    is_time = change.kind in (ValueKind.DATE, ValueKind.TIMESTAMP)
    if change.settings.initial_load == "full" or clock is None or not is_time:
        return None
    return clock.minus(change.settings.initial_load_days * SECONDS_OF_A_DAY)


def _count_nulls(change: CursorChange, source: Session) -> int:
    if not change.column.nullable:
        return 0
    return _number(source.query(partitions.count_nulls(change.table.source.name, change.column)))


def _older_current_rows(change: CursorChange, source: Session, floor: Value | None) -> int:
    current = change.needs.current_rows
    if current is None or floor is None:
        return 0
    older = cursors.is_older_and(change.column, floor, current)
    return _number(source.query(cursors.count_where(change.table.source.name, older)))


def _next_window(known: list[Value]) -> Value:
    """Return the time now, to the second, and later than every window that is known."""
    now = Value.of(f"{datetime.now(UTC):%Y-%m-%d-%H-%M-%S}", ValueKind.TEXT)
    last = max(known, default=None)
    return now if last is None or now > last else Value.of(f"{last.text}-1", ValueKind.TEXT)


def _number(answer: list[tuple[object, ...]]) -> int:
    return int(str(answer[0][0]))
