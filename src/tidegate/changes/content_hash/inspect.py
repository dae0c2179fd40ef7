"""Inspect a table that is compared as a whole: what its content adds up to in source, lake and target. No Spark."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from tidegate.hashing.receipts import answer_as_text, receipt_of
from tidegate.interfaces.change import Sessions
from tidegate.interfaces.lake import Lake
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.names import MappedTable, TableName
from tidegate.model.receipt import Receipt
from tidegate.model.state import LakeEntry, LedgerEntry, SourceValue, TableState
from tidegate.model.tokens import ContentToken
from tidegate.model.windows import WHOLE_TABLE
from tidegate.sql.contents import checksum, count_and_greatest, count_rows

if TYPE_CHECKING:
    from tidegate.changes.content_hash import ContentChange


LIGHT_ROWS = 100_000
"""Up to so many rows of a table are read while planning. More are read inside of tasks, once it is known that they have
to be: `plan` says that it does not know yet."""


def inspect_table(change: ContentChange, sessions: Sessions) -> TableState:
    table = change.table
    ledger = sessions.ledger.entries(table.ledger_name) if sessions.ledger else {}
    loaded = ledger.get(WHOLE_TABLE.text)
    found = sessions.lake.entries(change.lake_table, ledger)
    entry = _as_loaded(next(iter(found.by_window.values()), None), loaded)
    counted = None if change.asks_server else _count(sessions.source, table.source.name)
    in_target = None if table.target is None else _count(sessions.target, table.target_name)
    mark = _mark(change, sessions.source)
    is_trusted = _is_trusted(entry, loaded, mark)
    unread = max(counted or 0, in_target or 0) > LIGHT_ROWS and not change.asks_server and not is_trusted
    receipt: Receipt | None = None
    if is_trusted:
        assert entry is not None and entry.token is not None
        source = SourceValue(entry.rows, entry.token.fingerprint)
    elif unread:
        source = SourceValue(counted)
    else:
        source = _source(change, sessions.source, request_of_source(change, entry, loaded))
        if entry is not None and _covers_more(change, entry):
            entry = replace(entry, token=ContentToken(_content_of(change, sessions.lake, entry)))
        # What changed in the source is loaded, and a load reads the target itself, row by row.
        changed = (
            entry is not None and not entry.broken and (entry.token is None or entry.token.fingerprint != source.newest)
        )
        request = None if loaded is not None and changed else request_of_target(change, loaded)
        if request is not None:
            receipt = receipt_of(sessions.target, request)
            in_target = receipt.rows
    copies = sessions.scope_copies(change.lake_table, table.ledger_name)
    return TableState(
        source={WHOLE_TABLE: source},
        lake={WHOLE_TABLE: entry} if entry else {},
        target={} if in_target is None else {WHOLE_TABLE: in_target},
        ledger={WHOLE_TABLE: loaded} if loaded else {},
        scope=copies.known,
        scope_copies=copies,
        is_ours=loaded is not None or copies.known is not None,
        columns_id=table.columns_id,
        storage_types=table.storage_types,
        target_lacks=table.target_lacks,
        target_receipt=receipt,
        unread=unread,
        mark=mark,
        is_trusted=is_trusted,
        superseded=found.superseded,
    )


def _mark(change: ContentChange, source: Session) -> str:
    """Return the answer to `pre_check`; empty where nothing is asked, or where the server cannot tell now.

    It ends with how the table is mapped: another `where` gives other rows of a table that nobody changed."""
    table = change.table.source.name
    if change.modified is not None:
        told = answer_as_text(source.query(count_and_greatest(table, change.modified))[0]) or ""
    elif change.settings.asks_mark_of_server:
        told = source.last_change(table.base if isinstance(table, MappedTable) else table)
    else:
        return ""
    mapped = f" {sha256(repr(table).encode()).hexdigest()[:16]}" if isinstance(table, MappedTable) else ""
    return told and told + mapped


def _is_trusted(entry: LakeEntry | None, loaded: LedgerEntry | None, mark: str) -> bool:
    """Return whether the rows of the source need not be read: nobody wrote since those were read that are loaded."""
    if entry is None or entry.broken or loaded is None or not loaded.is_active or entry.token is None:
        return False
    return bool(mark) and loaded.token == ContentToken(entry.token.fingerprint, mark)


def _count(session: Session, table: TableName) -> int:
    return int(str(session.query(count_rows(table))[0][0]))


def request_of_source(change: ContentChange, entry: LakeEntry | None, loaded: LedgerEntry | None) -> ReadRequest:
    """Return how the content of the source is read: in the columns that tell a change, as it was extracted."""
    text_columns = entry.text_columns if entry else loaded.text_columns if loaded else ()
    return change.table.from_source(None).with_text(text_columns).only(change.hashed)


def request_of_target(change: ContentChange, loaded: LedgerEntry | None) -> ReadRequest | None:
    """Return how the content of the target is read; None where it cannot be compared."""
    table = change.table
    if table.target is None or table.target_lacks or change.asks_server:
        return None
    request = table.from_target(None)
    if loaded is not None:
        request = table.as_loaded(request, loaded)
        if tuple(column.name for column in request.columns) != loaded.columns:
            return None  # columns that were loaded have left the target
    return request


def _as_loaded(entry: LakeEntry | None, loaded: LedgerEntry | None) -> LakeEntry | None:
    """Return the entry with the hash of the columns that were loaded: the entry itself may have more."""
    if entry is None or entry.broken or loaded is None or loaded.etag != entry.etag:
        return entry
    return replace(entry, hash=loaded.hash)


def _covers_more(change: ContentChange, entry: LakeEntry) -> bool:
    """Return whether the entry has columns that left the source since, or has them in another order. What it says of
    its content cannot be compared with the source then."""
    names = tuple(column.name for column in change.table.columns)
    comparable = not entry.broken and bool(entry.storage_types) and set(names) <= set(entry.columns)
    return comparable and not change.asks_server and not change.settings.hash_columns and entry.columns != names


def _content_of(change: ContentChange, lake: Lake, entry: LakeEntry) -> str:
    """Return what the entry's rows add up to, in the columns that tell a change now."""
    from tidegate.hashing.rows import ReceiptBuilder

    receipts = ReceiptBuilder()
    for batch in lake.read(change.lake_table, entry.id, change.table.batch):
        receipts.add(batch.select(list(change.hashed)))
    return receipts.receipt().as_text()


def _source(change: ContentChange, source: Session, request: ReadRequest) -> SourceValue:
    """Return how many rows there are, and what planning compares."""
    if change.asks_server:
        answer = source.query(checksum(change.table.source.name, change.hashed_columns))[0]
        return SourceValue(int(str(answer[1])), answer_as_text(answer))
    receipt = receipt_of(source, request, change.naming_keys)
    return SourceValue(receipt.rows, receipt.as_text())
