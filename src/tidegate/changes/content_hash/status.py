"""The status of a table that is compared as a whole: what source, lake and target hold, and when it was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.model.state import LakeEntry, LedgerEntry, TableState
from tidegate.model.status import TableStatus, WholeStatus
from tidegate.model.windows import WHOLE_TABLE as WHOLE
from tidegate.tables.planned import PlannedTable
from tidegate.tables.status import next_steps, table_status

if TYPE_CHECKING:
    from tidegate.changes.content_hash import ContentChange


def status(planned: PlannedTable, seen: TableState, change: ContentChange) -> TableStatus:
    entry = seen.ledger.get(WHOLE)
    source, file, steps = seen.source[WHOLE], _usable(seen.lake.get(WHOLE)), next_steps(planned, WHOLE)
    state = _state(seen, entry, bool(steps))
    held = seen.target.get(WHOLE) or 0
    whole = WholeStatus(
        value=WHOLE.text,
        state=state,
        source_rows=source.rows,
        lake_rows=file.rows if file else 0,
        target_rows=held,
        lake_hash=file.hash if file else "",
        ledger_hash=entry.hash if entry else "",
        generation=entry.generation if entry else 0,
        loaded_at=entry.at if entry else "",
        next=steps,
        source_hash=_source_hash(change, source.newest, file),
        target_hash=seen.target_receipt.hash if seen.target_receipt else "",
        contained=state == "proven" and not change.deletes and held > (source.rows or 0),
    )
    return table_status(TableStatus, planned, [whole])


def _usable(file: LakeEntry | None) -> LakeEntry | None:
    return None if file is None or file.broken else file


def _state(seen: TableState, entry: LedgerEntry | None, has_steps: bool) -> str:
    if entry is None or not entry.is_active:
        return entry.kind if entry else "pending"
    if WHOLE not in seen.target:
        return "missing"
    if _changed(seen, entry):
        return "differs"
    if has_steps:
        return "pending"
    # Of a table that was not read, only the counts are known to be right.
    return "adopted" if entry.kind == "adopted" else "loaded" if seen.unread or seen.is_trusted else "proven"


def _changed(seen: TableState, entry: LedgerEntry) -> bool:
    """Whether the target is no longer as the last load left it."""
    left = entry.target_receipt
    if left is None:
        return False
    return seen.target[WHOLE] != left.rows or seen.target_receipt not in (None, left)


def _source_hash(change: ContentChange, state: str | None, file: LakeEntry | None) -> str:
    """The file's, where what is watched is as it was extracted; what covers less than a row is no hash of its own."""
    if file is not None and file.token is not None and file.token.fingerprint == state:
        return file.hash
    whole = not change.asks_server and not change.settings.hash_columns
    return _hash_in(state) if whole else ""


def _hash_in(receipt: str | None) -> str:
    return receipt.split()[-1] if receipt else ""
