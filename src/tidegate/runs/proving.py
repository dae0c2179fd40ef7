"""Prove: read one value on both sides through the same canonicaliser, and where asked find the keys that differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.interfaces import Database, ReadRequest
from tidegate.runs.landing import read_receipt, with_text_where_needed
from tidegate.runs.retry import retried
from tidegate.spark.slices import Facts
from tidegate.spark.worker import Worker

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = 5
# Characters that no key has: ("a, b", "c") and ("a", "b, c") are two keys, and a null is no text.
_BETWEEN, _NULL = "\x1f", "\x1e"


@dataclass(frozen=True)
class CompareSlice:
    """The receipts of one value in source and target. Either side may be left out."""

    source: Database | None
    source_request: ReadRequest | None
    snapshot: str
    target: Database | None
    target_request: ReadRequest | None
    text_columns: tuple[str, ...] = ()
    """What the lake or the ledger read as text: hashes can be compared only when it is read alike."""
    keys: tuple[str, ...] = ()
    """With keys, rows that differ are named by them."""

    def move(self, worker: Worker) -> Facts:
        some = self.source_request or self.target_request
        assert some is not None
        some = some.with_text(self.text_columns)
        return retried(
            lambda: with_text_where_needed(some, lambda request: self._compare(request.text_columns, worker))
        )

    def _compare(self, text_columns: tuple[str, ...], worker: Worker) -> Facts:
        source = self._receipt(self.source, self.source_request, self.snapshot, text_columns, worker)
        target = self._receipt(self.target, self.target_request, "", text_columns, worker)
        facts: Facts = {"source": source, "target": target, "text_columns": list(text_columns)}
        if self.keys and source != target:
            facts["keys"] = self._keys_that_differ(text_columns, worker)
        return facts

    def _receipt(
        self,
        database: Database | None,
        request: ReadRequest | None,
        snapshot: str,
        text_columns: tuple[str, ...],
        worker: Worker,
    ) -> dict[str, Any] | None:
        if database is None or request is None:
            return None
        with worker.sessions.session(database, "prove", read_only=True) as session:
            session.use_snapshot(snapshot) if snapshot else session.export_snapshot()
            receipt = read_receipt(session, replace(request, text_columns=text_columns), worker.progress)
        return {"rows": receipt.rows, "hash": receipt.hash}

    def _keys_that_differ(self, text_columns: tuple[str, ...], worker: Worker) -> Facts:
        assert self.source and self.source_request and self.target and self.target_request
        of_source = replace(self.source_request, text_columns=text_columns)
        of_target = replace(self.target_request, text_columns=text_columns)
        source = self._keyed(self.source, of_source, self.snapshot, worker)
        target = self._keyed(self.target, of_target, "", worker)
        return differing_keys(source, target)

    def _keyed(self, database: Database, request: ReadRequest, snapshot: str, worker: Worker) -> pa.Table:
        with worker.sessions.session(database, "prove", read_only=True) as session:
            session.use_snapshot(snapshot) if snapshot else session.export_snapshot()
            return keyed_hashes(session.read(request), self.keys)


def keyed_hashes(batches: Iterator[pa.RecordBatch], keys: tuple[str, ...]) -> pa.Table:
    """The key of each row as text and the hash of each row: all that is needed to tell which rows differ."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from tidegate.rows.hashing import hash_rows

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


def differing_keys(source: pa.Table, target: pa.Table) -> Facts:
    """Rows whose content is on one side only, sorted into missing, added and changed keys."""
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
    return {name: {"count": len(found), "examples": _examples(found)} for name, found in groups.items() if found}


def _examples(keys: set[str]) -> list[str]:
    return [key.replace(_BETWEEN, ", ").replace(_NULL, "NULL") for key in sorted(keys)[:EXAMPLES]]


def _as_text(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    return column.cast(pa.string())
