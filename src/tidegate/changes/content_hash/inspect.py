"""Inspect a table that is compared as a whole: what its content adds up to in source, lake and target. No Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.hashing.receipts import answer_as_text, receipt_of
from tidegate.interfaces.change import Sessions
from tidegate.interfaces.database import Session
from tidegate.interfaces.lake import Lake
from tidegate.model.receipt import Receipt
from tidegate.model.state import LakeEntry, LedgerEntry, SourceValue, TableState
from tidegate.model.tokens import ContentToken
from tidegate.model.windows import WHOLE_TABLE
from tidegate.sql.contents import checksum, count_rows

if TYPE_CHECKING:
    from tidegate.changes.content_hash import ContentChange


def inspect_table(change: ContentChange, sessions: Sessions) -> TableState:
    table = change.table
    ledger = sessions.ledger.entries(table.ledger_name) if sessions.ledger else {}
    loaded = ledger.get(WHOLE_TABLE.text)
    found = sessions.lake.entries(change.lake_table, ledger)
    entry = _as_loaded(next(iter(found.by_window.values()), None), loaded)
    text_columns = entry.text_columns if entry else loaded.text_columns if loaded else ()
    rows, content = _source(change, sessions.source, text_columns)
    if entry is not None and _covers_more(change, entry):
        entry = replace(entry, token=ContentToken(_content_of(change, sessions.lake, entry)))
    # What changed in the source is loaded, and a load reads the target itself, row by row.
    changed = entry is not None and not entry.broken and entry.token != ContentToken(content)
    in_target, receipt = _target(change, sessions.target, loaded, only_count=loaded is not None and changed)
    copies = sessions.scope_copies(change.lake_table, table.ledger_name)
    return TableState(
        source={WHOLE_TABLE: SourceValue(rows, content)},
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
        superseded=found.superseded,
    )


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


def _source(change: ContentChange, source: Session, text_columns: tuple[str, ...]) -> tuple[int, str | None]:
    """Return how many rows there are, and what planning compares."""
    if change.asks_server:
        answer = source.query(checksum(change.table.source.name, change.hashed_columns))[0]
        return int(str(answer[1])), answer_as_text(answer)
    request = change.table.from_source(None).with_text(text_columns).only(change.hashed)
    receipt = receipt_of(source, request)
    return receipt.rows, receipt.as_text()


def _target(
    change: ContentChange, target: Session, loaded: LedgerEntry | None, *, only_count: bool
) -> tuple[int | None, Receipt | None]:
    """Return how many rows there are, and their receipt; no receipt where only a count was asked for."""
    table = change.table
    if table.target is None:
        return None, None
    request = table.from_target(None)
    if loaded is not None:
        request = table.as_loaded(request, loaded)
        # Columns that were loaded have left the target: their content cannot be compared any more.
        only_count = only_count or tuple(column.name for column in request.columns) != loaded.columns
    if only_count or table.target_lacks or change.asks_server:
        return int(str(target.query(count_rows(table.target_name))[0][0])), None
    receipt = receipt_of(target, request)
    return receipt.rows, receipt
