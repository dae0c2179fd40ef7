"""Inspect an incremental table: how far lake and ledger reach, what the source has from there on, and which open
transactions may still bring older rows."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from tidegate.changes._incremental.state import IncrementalState, OpenTransaction, transactions_from_json
from tidegate.changes._watermarks import of_one_counter
from tidegate.changes._zones import clock_of
from tidegate.errors import DatabaseError, Unsupported, ValueProblem
from tidegate.hashing.receipts import receipt_of
from tidegate.interfaces.change import Sessions
from tidegate.interfaces.session import Session
from tidegate.model.scope import Scope, ScopeCopies
from tidegate.model.state import LakeEntry, LedgerEntry, SourceValue
from tidegate.model.tokens import IncrementalWindow, WatermarkSet, with_keys
from tidegate.model.values import Value, ValueKind
from tidegate.model.windows import WHOLE_TABLE as ALL
from tidegate.sql import watermarks
from tidegate.sql.contents import count_rows
from tidegate.sql.cursors import count_where
from tidegate.tables.found import UNTOUCHED

if TYPE_CHECKING:
    from tidegate.changes._incremental.change import IncrementalChange

EXAMPLES = 5
_WAITS = (0.05, 0.1, 0.2, 0.4)
"""Seconds to wait for short transactions that draw numbers: they end by themselves."""


_CLOCKS_DIFFER = 60
"""Seconds by which the clocks of two machines may drift apart between two runs."""


def inspect_table(change: IncrementalChange, sessions: Sessions, *, count_all: bool = False) -> IncrementalState:
    ledger = sessions.ledger.entries(change.table.ledger_name) if sessions.ledger else {}
    copies = sessions.scope_copies(change.lake_table, change.table.ledger_name)
    # Counting the target takes longest, so lake and source are inspected meanwhile.
    state, target_rows = sessions.both(
        lambda: _by_cursor(change, sessions.source, _lake_and_ledger(change, sessions, ledger, copies)),
        lambda: sessions.target_rows(change.table),
    )
    if count_all:
        state = replace(state, source={ALL: SourceValue(_count_loaded(change, sessions.source, state))})
    return state if target_rows is None else replace(state, target={ALL: target_rows}, target_rows=target_rows)


def _count_loaded(change: IncrementalChange, source: Session, state: IncrementalState) -> int:
    """Return how many rows the source has, up to what was loaded."""
    rows = change.loaded_rows(state, Scope()).inside.rows
    table = change.table.source.name
    return _number(source.query(count_rows(table) if rows is None else count_where(table, rows)))


def _lake_and_ledger(
    change: IncrementalChange, sessions: Sessions, ledger: dict[str, LedgerEntry], copies: ScopeCopies
) -> IncrementalState:
    table = change.table
    loaded = {Value.of(text, ValueKind.TEXT): entry for text, entry in ledger.items()}
    found = sessions.lake.entries(change.lake_table, ledger).by_window.items()
    entries = {Value.of(text, ValueKind.TEXT): _with_keys(change, entry) for text, entry in found}
    known = [name for name in (*loaded, *entries) if name != ALL]
    in_lake = _windows({name: entry for name, entry in entries.items() if not entry.broken})
    in_ledger = _windows({name: entry for name, entry in loaded.items() if entry.kind == "loaded"})
    newest_set = max(((name, entry) for name, entry in loaded.items() if entry.kind == "watermark"), default=None)
    watermark_set = None
    if newest_set is not None and isinstance(newest_set[1].token, WatermarkSet):
        name, watermark_set = newest_set[0], newest_set[1].token
        in_lake, in_ledger = (_since(name, watermark_set, windows) for windows in (in_lake, in_ledger))
        watermark_set = watermark_set if max((*in_lake, *in_ledger), default=name) <= name else None
    return IncrementalState(
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
        in_lake=in_lake,
        in_ledger=in_ledger,
        watermark_set=watermark_set,
        next_window=_next_window(known),
    )


def _windows(entries: dict[Value, LakeEntry] | dict[Value, LedgerEntry]) -> dict[Value, IncrementalWindow]:
    """Return the windows that were read from the source: rows of a program say nothing about how far it was read."""
    tokens = {name: entry.token for name, entry in entries.items()}
    read = {name: token for name, token in tokens.items() if isinstance(token, IncrementalWindow)}
    return {name: token for name, token in read.items() if not token.is_given}


def _since(
    name: Value, watermark_set: WatermarkSet, windows: dict[Value, IncrementalWindow]
) -> dict[Value, IncrementalWindow]:
    """Return the windows since somebody set the watermark; what was set counts as a window that reaches up to it."""
    later = {window: token for window, token in windows.items() if window > name}
    value = watermark_set.watermark
    return later if value is None else {name: IncrementalWindow(upto=value, watermark=value), **later}


def _with_keys(change: IncrementalChange, entry: LakeEntry) -> LakeEntry:
    """Return an entry that was read with all keys as broken when they are missing."""
    window = entry.token
    was_read = not entry.broken and isinstance(window, IncrementalWindow) and window.keys_read_at is not None
    if not was_read or not change.needs.all_keys or entry.has_keys:
        return entry
    return replace(entry, broken="the file with its keys is missing")


def _by_cursor(change: IncrementalChange, source: Session, state: IncrementalState) -> IncrementalState:
    clock = _clock(change, source)
    if clock is not None and change.counts_commits:
        in_lake, in_ledger = (of_one_counter(windows, clock) for windows in (state.in_lake, state.in_ledger))
        state = replace(state, in_lake=in_lake, in_ledger=in_ledger)
    last = state.newest_window
    low = None
    if last is not None and last.all_before is not None and not change.needs.all_rows:
        low = change.before(last.all_before, clock)
    newest, newest_past, rows, answer = _bounds(change, source, clock, low)
    state = replace(
        state,
        set_back=_set_back(state, clock),
        nulls=_count_missing(change, source),
        newest=newest,
        newest_past=newest_past,
        clock=clock,
        rows=rows,
        keys_read_at=(clock or newest_past) if change.needs.all_keys else None,
        sees_transactions=answer is not None or change.counts_commits,
        holders=_holders(change, source, answer, clock, last),
    )
    # Where there are later cursor values no content has to be compared to know that there is news.
    is_later = newest is not None and last is not None and last.upto is not None and newest > last.upto
    if last is None or is_later:
        return state
    text_columns = max(state.lake.items())[1].text_columns if state.lake else ()
    low = last.all_before and last.all_before.minus(change.look_back)
    receipt = receipt_of(source, change.lookback_request(low, last.upto).with_text(text_columns))
    fingerprint = receipt.as_text()
    if change.needs.all_keys:
        fingerprint = with_keys(fingerprint, receipt_of(source, change.all_keys.with_text(text_columns)))
    return replace(state, lookback_fingerprint=fingerprint)


def _set_back(state: IncrementalState, clock: Value | None) -> int:
    """Return by how many seconds the source's clock fell behind this machine's since the newest window was planned.

    A window's name is the time of this machine. Differences of less than a minute are those of any two clocks."""
    last, name = state.newest_window, max((*state.in_lake, *state.in_ledger), default=None)
    if last is None or name is None or last.clock is None or clock is None or clock.kind is not ValueKind.TIMESTAMP:
        return 0
    assert state.next_window is not None
    here, then = (_time_of_name(window) for window in (state.next_window, name))
    there = datetime.fromisoformat(clock.text) - datetime.fromisoformat(last.clock.text)
    fell_behind = int((here - then - there).total_seconds())
    return fell_behind if fell_behind > _CLOCKS_DIFFER else 0


def _time_of_name(window: Value) -> datetime:
    return datetime.strptime(window.text[:19], "%Y-%m-%d-%H-%M-%S")


def _clock(change: IncrementalChange, source: Session) -> Value | None:
    return clock_of(source, change.cursor.columns[0], change.kind, getattr(change.settings, "cursor_zone", None))


def _bounds(
    change: IncrementalChange, source: Session, clock: Value | None, low: Value | None
) -> tuple[Value | None, Value | None, int, str | None]:
    """Return the greatest cursor value, the greatest not in the future, the number of rows from `low` on, and the open
    transactions as the server wrote them; None where it did not tell."""
    table, cursor = change.table.source.name, change.cursor
    seen = None if change.counts_commits else source.database.open_transactions(table)
    try:
        [answer] = source.query(watermarks.bounds(table, cursor, clock, low, seen))
    except DatabaseError:
        if seen is None:
            raise
        # This login may not ask for transactions. Anything else fails again.
        [answer] = source.query(watermarks.bounds(table, cursor, clock, low, None))
    count = len(cursor.columns)
    newest, past = (
        max((_value(change, text) for text in texts if text is not None), default=None)
        for texts in (answer[:count], answer[count : 2 * count])
    )
    rows, transactions = answer[2 * count :]
    if seen is None and not change.counts_commits:
        transactions = source.open_transactions(table)
    return newest, past, int(str(rows)), None if transactions is None else str(transactions)


def _value(change: IncrementalChange, text: object) -> Value:
    try:
        return Value.of(text, change.kind)
    except ValueError as problem:
        raise Unsupported(
            f"{change.table.key}: {change.table.source.name} has rows whose {change.cursor} cannot be a cursor:"
            f" {problem}.",
            UNTOUCHED,
            "Correct these rows, or name another column.",
        ) from None


def _holders(
    change: IncrementalChange,
    source: Session,
    answer: str | None,
    clock: Value | None,
    last: IncrementalWindow | None,
) -> tuple[OpenTransaction, ...]:
    """Return the open transactions, each with the smallest cursor value that it may still bring.

    A time is not older than the transaction. A number can be any that is missing: transactions that end in a moment are
    waited for, since all that they brought is there before the rows are read."""
    if answer is None:
        return ()
    found = transactions_from_json(answer, only_writers=clock is None)
    if clock is not None:
        return tuple(replace(holder, low=_first_time(holder, clock, last)) for holder in found)
    for seconds in _WAITS if found else ():
        time.sleep(seconds)
        text = source.open_transactions(change.table.source.name)
        if text is None:
            break
        now = {holder.session for holder in transactions_from_json(text, only_writers=True)}
        found = [holder for holder in found if holder.session in now]
        if not found:
            break
    if not found:
        return ()
    asked_at = datetime.fromisoformat(source.now())
    first = cache(lambda start: _first_that_may_come(change, source, start))
    lows = [first(_drawn_up_to(last, asked_at - timedelta(seconds=holder.age))) for holder in found]
    # Where no number is missing, only greater ones can come.
    return tuple(replace(holder, low=low) for holder, low in zip(found, lows, strict=True) if low is not None)


def _first_time(holder: OpenTransaction, clock: Value, last: IncrementalWindow | None) -> Value:
    """Return the time of the first row that a transaction may bring. A prepared one began before it was prepared."""
    low = clock.minus(holder.age + 1)
    reached = last.watermark if last is not None and holder.is_prepared else None
    return low if reached is None else min(low, reached)


def _drawn_up_to(last: IncrementalWindow | None, began: datetime) -> Value | None:
    """Return the number up to which a transaction that began then has drawn none: the end of a window that was read
    before it began, or else the watermark."""
    if last is None or not last.read_at or last.upto is None:
        return None if last is None else last.watermark
    return last.upto if began > datetime.fromisoformat(last.read_at) else last.watermark


def _first_that_may_come(change: IncrementalChange, source: Session, start: Value | None) -> Value | None:
    """Return the number, from `start` on, after which one is missing: an open transaction may have drawn it.

    Without a start, that is before the first window, numbers that begin with 1 have none missing before."""
    [column] = change.cursor.columns
    start = Value.of("0", change.kind) if start is None else start
    answer = source.query(watermarks.first_missing_number(change.table.source.name, column, start))[0][0]
    return None if answer is None else Value.of(answer, change.kind)


def _count_missing(change: IncrementalChange, source: Session) -> int:
    """Count the rows without a cursor value. Raises ValueProblem with examples where they are refused."""
    if not change.cursor.nullable:
        return 0
    table = change.table.source.name
    nulls = _number(source.query(watermarks.count_missing(table, change.cursor)))
    if nulls and change.settings.null_cursor == "refuse":
        names = change.table.row_names(change.needs.keys)
        shown = [column for column in change.table.source.columns if column.name in names]
        found = source.query(watermarks.examples_of_missing(table, change.cursor, shown, EXAMPLES))
        examples = "; ".join(", ".join("NULL" if part is None else str(part) for part in row) for row in found)
        raise ValueProblem(
            f"{change.table.key}: {nulls:,} rows of the source have no value in {change.cursor}, such as"
            f" {', '.join(column.name for column in shown)} = {examples}.",
            UNTOUCHED,
            "Fill the column in the source, or set `null_cursor: coalesce(created_at)` (another column counts for them)"
            " or `null_cursor: once`.",
        )
    return nulls


def _next_window(known: list[Value]) -> Value:
    """Return the time now, to the second, and later than every window that is known."""
    now = Value.of(f"{datetime.now(UTC):%Y-%m-%d-%H-%M-%S}", ValueKind.TEXT)
    last = max(known, default=None)
    return now if last is None or now > last else Value.of(f"{last.text}-1", ValueKind.TEXT)


def _number(answer: list[tuple[object, ...]]) -> int:
    return int(str(answer[0][0]))
