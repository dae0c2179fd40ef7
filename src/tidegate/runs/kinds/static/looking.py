"""Look at a static table: what its content adds up to in source, lake and target. Light drivers, no Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

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
    file = _file(table, at.lake, entry)
    text_columns = file.text_columns if file else entry.text_columns if entry else ()
    rows, state = _source(table, at.source, text_columns)
    if file is not None and _covers_more(table, file):
        file = replace(file, newest=_state_of_file(table, at.lake, file))
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
        storage_types=table.storage_types,
        target_lacks=table.target_lacks,
        target_state=target_state,
    )


def _file(table: WholeTable, lake: ParquetLake, entry: LedgerEntry | None) -> LakeFile | None:
    path = lake.newest_static(table.lake_table)
    if path is None:
        return None
    file = lake.footer(path, table.lake_table, table.lake_column)[2]
    # The entry of a file with more columns than were loaded has the hash of those that were.
    is_loaded = entry is not None and not file.broken and entry.stamp == file.stamp
    return replace(file, hash=entry.hash) if entry is not None and is_loaded else file


def _covers_more(table: WholeTable, file: LakeFile) -> bool:
    """Return whether the file has columns that left the source since, or has them in another order: what it says of its
    content is not comparable with the source then."""
    names = tuple(column.name for column in table.columns)
    by_server = table.settings.change_detection_method == "checksum"
    comparable = not file.broken and bool(file.storage_types) and set(names) <= set(file.columns)
    return comparable and not by_server and not table.settings.hash_columns and file.columns != names


def _state_of_file(table: WholeTable, lake: ParquetLake, file: LakeFile) -> str:
    """What planning compares, of the file's rows in the columns that tell a change now."""
    from tidegate.rows.hashing import ReceiptBuilder

    receipts, size = ReceiptBuilder(), table.batch
    for batch in lake.batches(Path(file.path), size.rows, size.bytes):
        receipts.add(batch.select(list(table.hashed)))
    return receipts.receipt().as_text()


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
        request = table.as_loaded(request, entry)
        if tuple(column.name for column in request.columns) != entry.columns:
            # Columns that were loaded have left the target: their content cannot be compared any more.
            return int(str(target.query(count_rows(table.target_name))[0][0])), None
    receipt = receipt_of(target, request)
    return receipt.rows, receipt.as_text()
