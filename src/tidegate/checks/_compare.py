"""Compare one window: read it on both sides through the same canonicaliser, and find the keys that differ if asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tidegate.hashing.receipts import read_receipt, with_text_where_needed
from tidegate.interfaces.check import Sides
from tidegate.interfaces.database import Database, ReadRequest
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.values import Value
from tidegate.spark.worker import Worker
from tidegate.tables.planned import PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = 5
# Characters that no key has: ("a, b", "c") and ("a", "b, c") are two keys, and a null is no text.
_BETWEEN, _NULL = "\x1f", "\x1e"


@dataclass(frozen=True)
class DifferingKeys:
    """Keys of rows that differ in one way."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """The receipts of both sides; None for a side that was left out."""

    source: Receipt | None
    target: Receipt | None
    text_columns: tuple[str, ...] = ()
    """The columns that both sides were read as text in."""
    keys: Mapping[str, DifferingKeys] = field(default_factory=dict)
    """By how they differ: `missing in the target`, `only in the target` or `changed`."""


@dataclass(frozen=True)
class CompareSplit:
    """Reads the receipts of one window in source and target. Either side may be left out."""

    source: Database | None
    source_request: ReadRequest | None
    snapshot: str
    target: Database | None
    target_request: ReadRequest | None
    text_columns: tuple[str, ...] = ()
    """What the lake or the ledger read as text: hashes can be compared only when it is read alike."""
    keys: tuple[str, ...] = ()
    """With keys, rows that differ are named by them."""

    def run(self, worker: Worker) -> Compared:
        request = self.source_request or self.target_request
        assert request is not None
        return with_text_where_needed(
            request.with_text(self.text_columns), lambda readable: self._compare(readable.text_columns, worker)
        )

    def _compare(self, text_columns: tuple[str, ...], worker: Worker) -> Compared:
        source = self._receipt(self.source, self.source_request, self.snapshot, text_columns, worker)
        target = self._receipt(self.target, self.target_request, "", text_columns, worker)
        keys = self._keys_that_differ(text_columns, worker) if self.keys and source != target else {}
        return Compared(source, target, text_columns, keys)

    def _receipt(
        self,
        database: Database | None,
        request: ReadRequest | None,
        snapshot: str,
        text_columns: tuple[str, ...],
        worker: Worker,
    ) -> Receipt | None:
        if database is None or request is None:
            return None
        with worker.sessions.session(database, "verify", read_only=True) as session:
            session.use_snapshot(snapshot) if snapshot else session.export_snapshot()
            return read_receipt(session, replace(request, text_columns=text_columns), worker.progress)

    def _keys_that_differ(self, text_columns: tuple[str, ...], worker: Worker) -> dict[str, DifferingKeys]:
        assert self.source and self.source_request and self.target and self.target_request
        source_request = replace(self.source_request, text_columns=text_columns)
        target_request = replace(self.target_request, text_columns=text_columns)
        source = self._keyed(self.source, source_request, self.snapshot, worker)
        target = self._keyed(self.target, target_request, "", worker)
        return differing_keys(source, target)

    def _keyed(self, database: Database, request: ReadRequest, snapshot: str, worker: Worker) -> pa.Table:
        with worker.sessions.session(database, "verify", read_only=True) as session:
            session.use_snapshot(snapshot) if snapshot else session.export_snapshot()
            return keyed_hashes(session.read(request), self.keys)


def compare_split(sides: Sides, planned: PlannedTable, window: Value) -> CompareSplit:
    """Return the split that compares a window. What the source no longer has is compared with the ledger."""
    state, change = planned.state, planned.table.change
    in_source, entry = window in state.source, state.ledger.get(window)
    known: LakeEntry | LedgerEntry | None = state.lake.get(window) or entry
    target = change.target_request(window)
    return CompareSplit(
        source=sides.source if in_source else None,
        source_request=change.source_request(window) if in_source else None,
        snapshot=sides.snapshot.name,
        target=sides.target,
        # In the columns of that time.
        target_request=target if in_source or entry is None else planned.table.found.as_loaded(target, entry),
        text_columns=known.text_columns if known else (),
        keys=planned.table.row_names if sides.deep and in_source else (),
    )


def comparison_of(planned: PlannedTable, window: Value, source: Receipt | None, target: Receipt | None) -> Comparison:
    loaded, entry = planned.state.ledger.get(window), planned.state.lake.get(window)
    lake_hash, ledger_hash = entry.hash if entry else "", loaded.hash if loaded else ""
    return Comparison(planned.key, window.text, source, target, lake_hash, ledger_hash)


def difference_in_words(comparison: Comparison, keys: Mapping[str, DifferingKeys]) -> str:
    source, target = comparison.source, comparison.target
    assert source is not None and target is not None
    text = (
        f"{source.rows:,} rows in the source, {target.rows:,} in the target"
        if source.rows != target.rows
        else "equal counts, other content"
    )
    if comparison.lake_hash and target.hash == comparison.lake_hash:
        text += "; the source changed after it was extracted"
    elif comparison.lake_hash and source.hash == comparison.lake_hash:
        is_loaded = comparison.ledger_hash == comparison.lake_hash
        text += (
            "; the target was changed after it was loaded" if is_loaded else "; what was extracted is not loaded yet"
        )
    for way, found in keys.items():
        more = ", ..." if found.count > len(found.examples) else ""
        text += f"; {found.count:,} {way} ({', '.join(found.examples)}{more})"
    return text


def keyed_hashes(batches: Iterator[pa.RecordBatch], keys: tuple[str, ...]) -> pa.Table:
    """Return the key of each row as text and the hash of each row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from tidegate.hashing.rows import hash_rows

    parts = []
    for batch in batches:
        texts = [pc.fill_null(_as_text(batch.column(key)), _NULL) for key in keys]
        hashes = hash_rows(batch)
        key = pc.binary_join_element_wise(*texts, _BETWEEN) if len(texts) > 1 else texts[0]
        columns = {"key": key, "hash1": pa.array(hashes[:, 0]), "hash2": pa.array(hashes[:, 1])}
        parts.append(pa.table(columns))
    empty = {
        "key": pa.array([], pa.string()),
        "hash1": pa.array([], pa.uint64()),
        "hash2": pa.array([], pa.uint64()),
    }
    return pa.concat_tables(parts) if parts else pa.table(empty)


def differing_keys(source: pa.Table, target: pa.Table) -> dict[str, DifferingKeys]:
    """Return the keys of rows whose content is on one side only: missing, added and changed ones."""
    content = ["key", "hash1", "hash2"]
    counted = [side.group_by(content).aggregate([([], "count_all")]) for side in (source, target)]
    both = counted[0].join(counted[1], content, join_type="full outer", left_suffix="_s", right_suffix="_t")
    names = [name for name in both.column_names if name.startswith("count_all")]
    uneven = [row for row in both.select(["key", *names]).to_pylist() if row[names[0]] != row[names[1]]]
    on_source = {row["key"] for row in uneven if (row[names[0]] or 0) > (row[names[1]] or 0)}
    on_target = {row["key"] for row in uneven if (row[names[1]] or 0) > (row[names[0]] or 0)}
    groups = {
        "missing in the target": on_source - on_target,
        "only in the target": on_target - on_source,
        "changed": on_source & on_target,
    }
    return {way: DifferingKeys(len(keys), _examples(keys)) for way, keys in groups.items() if keys}


def _examples(keys: set[str]) -> tuple[str, ...]:
    return tuple(key.replace(_BETWEEN, ", ").replace(_NULL, "NULL") for key in sorted(keys)[:EXAMPLES])


def _as_text(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    return column.cast(pa.string())
