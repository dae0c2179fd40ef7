"""Where a static table stands: what its three places hold, and when it was loaded."""

from __future__ import annotations

from tidegate.changes.content_hash import WHOLE
from tidegate.model.evidence import LakeFile, LedgerEntry, PartitionEvidence
from tidegate.model.status import TableStatus, WholeStatus
from tidegate.runs.kinds.static.table import WholeTable
from tidegate.runs.planned import Planned
from tidegate.runs.standing import next_steps, standing


def status(one: Planned, table: WholeTable) -> TableStatus:
    seen, entry = one.evidence, one.evidence.ledger.get(WHOLE)
    source, file, planned = seen.source[WHOLE], _usable(seen.lake.get(WHOLE)), next_steps(one, WHOLE)
    state = _state(seen, entry, bool(planned))
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
        next=planned,
        source_hash=_source_hash(table, source.newest, file),
        target_hash=_hash_in(seen.target_state),
        contained=state == "proven" and not table.deletes and held > (source.rows or 0),
    )
    return standing(TableStatus, one, [whole])


def _usable(file: LakeFile | None) -> LakeFile | None:
    return None if file is None or file.broken else file


def _state(seen: PartitionEvidence, entry: LedgerEntry | None, planned: bool) -> str:
    if entry is None or not entry.stands:
        return entry.kind if entry else "pending"
    if WHOLE not in seen.target:
        return "missing"
    if _changed(seen, entry):
        return "differs"
    return "pending" if planned else "adopted" if entry.kind == "adopted" else "proven"


def _changed(seen: PartitionEvidence, entry: LedgerEntry) -> bool:
    """Whether the target is no longer as the last load left it."""
    left = entry.newest or ""
    if not left:
        return False
    return seen.target[WHOLE] != int(left.split()[0]) or seen.target_state not in (None, left)


def _source_hash(table: WholeTable, state: str | None, file: LakeFile | None) -> str:
    """The file's, where what is watched is as it was extracted; what covers less than a row is no hash of its own."""
    if file is not None and file.newest == state:
        return file.hash
    whole = table.settings.change_detection_method == "hash" and not table.settings.hash_columns
    return _hash_in(state) if whole else ""


def _hash_in(receipt: str | None) -> str:
    return receipt.split()[-1] if receipt else ""
