"""Look at a static table: what its content adds up to in source, lake and target. Light drivers, no Spark."""

from __future__ import annotations

from tidegate.changes.content_hash import WHOLE
from tidegate.interfaces import Session
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.evidence import LakeFile, LedgerEntry, PartitionEvidence, SourceValue
from tidegate.runs.kinds.kind import Witnesses
from tidegate.runs.kinds.static.table import WholeTable
from tidegate.runs.landing import receipt_of, told
from tidegate.sql.contents import checksum, count_rows


def look(table: WholeTable, at: Witnesses) -> PartitionEvidence:
    entries = at.ledger.entries(table.ledger_name) if at.ledger else {}
    entry = entries.get(WHOLE.text)
    file = _file(table, at.lake)
    text_columns = file.text_columns if file else entry.text_columns if entry else ()
    rows, state = _source(table, at.source, text_columns)
    # What changed in the source is loaded, and a load reads the target itself, row by row.
    is_loaded_anyway = entry is not None and file is not None and not file.broken and file.newest != state
    held, target_state = _target(table, at.target, entry, only_count=is_loaded_anyway)
    copies = at.scope_copies(table)
    return PartitionEvidence(
        source={WHOLE: SourceValue(rows, state)},
        lake={WHOLE: file} if file else {},
        target={} if held is None else {WHOLE: held},
        ledger={WHOLE: entry} if entry else {},
        scope=copies.known,
        scope_copies=copies,
        is_ours=entry is not None or copies.known is not None,
        columns_id=table.columns_id,
        target_lacks=table.target_lacks,
        target_state=target_state,
    )


def _file(table: WholeTable, lake: ParquetLake) -> LakeFile | None:
    path = lake.newest_static(table.lake_table)
    return lake.footer(path, table.lake_table, table.lake_column)[2] if path else None


def _source(table: WholeTable, source: Session, text_columns: tuple[str, ...]) -> tuple[int, str | None]:
    """How many rows, and what planning compares."""
    if table.settings.change_detection_method == "checksum":
        answer = source.query(checksum(table.source.name, table.hashed_columns))[0]
        return int(str(answer[1])), told(answer)
    request = table.from_source(None).with_text(text_columns).only(table.hashed)
    receipt = receipt_of(source, request)
    return receipt.rows, receipt.as_text()


def _target(
    table: WholeTable, target: Session, entry: LedgerEntry | None, *, only_count: bool
) -> tuple[int | None, str | None]:
    """How many rows, and what they add up to; the second is None where only a count was asked for."""
    if table.target is None:
        return None, None
    if only_count or table.target_lacks or table.settings.change_detection_method == "checksum":
        return int(str(target.query(count_rows(table.target_name))[0][0])), None
    request = table.from_target(None)
    if entry is not None:
        request = request.only(entry.columns).with_text(entry.text_columns)
    receipt = receipt_of(target, request)
    return receipt.rows, receipt.as_text()
