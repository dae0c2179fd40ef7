"""Change rows of a table that a load keeps in the lake: files with rows that leave are written anew without them.

Rows are compared by their hashes, so a row that is there as it should be stays in its file. What a task holds are two
hashes for each row that comes, and the keys of one file at a time. Every file is read back before the commit.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.errors import ProofFailed, Transient
from tidegate.interfaces.lake import EntryFacts, KeptTable, Lake, LakeTable, Part
from tidegate.interfaces.load import Batches, LoadTask
from tidegate.model.columns import Column
from tidegate.model.receipt import Receipt

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Mask
    from tidegate.hashing.rows import Words

_TRIES = 5


@dataclass(frozen=True, kw_only=True)
class KeptTask(LoadTask):
    """A window that goes into a table of the lake."""

    keys: tuple[str, ...]
    place: LakeTable
    added: tuple[Column, ...] = ()
    """Columns that the table has besides those of the source."""

    @property
    def columns_there(self) -> tuple[Column, ...]:
        return (*self.request.columns, *self.added)

    @property
    def schema(self) -> pa.Schema:
        from tidegate.hashing.arrow import arrow_schema

        return arrow_schema(self.columns_there, self.request.text_columns)


@dataclass(frozen=True)
class Wanted:
    """What the table is to hold of some keys: exactly these rows."""

    rows: Batches
    keys: KeySet
    """All keys of which the table may have no other rows."""
    only: KeySet | None = None
    """The keys that the source has: rows of others leave. None where nothing leaves."""


@dataclass(frozen=True)
class KeySet:
    """Keys, each as the hash of its columns."""

    hashes: pa.Array

    @classmethod
    def of(cls, batches: Iterator[pa.RecordBatch], names: Sequence[str]) -> KeySet:
        return cls(as_array(hashes_of(batches, names)).unique())

    def with_keys(self, other: KeySet) -> KeySet:
        import pyarrow as pa

        return KeySet(pa.concat_arrays([self.hashes, other.hashes]).unique())

    def holds(self, hashes: pa.Array) -> Mask:
        import numpy as np
        import pyarrow.compute as pc

        return np.asarray(pc.is_in(hashes, value_set=self.hashes))


def hashes_of(batches: Iterator[pa.RecordBatch], names: Sequence[str]) -> Words:
    """Return the hash of these columns of every row."""
    import numpy as np

    from tidegate.hashing.rows import hash_rows

    found = [hash_rows(batch.select(list(names))) for batch in batches]
    return np.concatenate(found) if found else np.zeros((0, 2), np.uint64)


def as_array(hashes: Words) -> pa.Array:
    """Return hashes as values that Arrow compares."""
    import numpy as np
    import pyarrow as pa

    data = pa.py_buffer(np.ascontiguousarray(hashes))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(hashes), [None, data])


@dataclass(frozen=True)
class Kept:
    """What one load did to the table."""

    rows: int
    """How many rows the table has now."""
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    was_done: bool = False
    """An earlier attempt committed it, and was killed before the ledger knew."""


@dataclass
class TableWriter:
    """Brings the rows of some keys into a table of the lake, in one commit."""

    lake: Lake
    task: KeptTask
    parts: list[Part] = field(default_factory=list)

    def existing(self, kept: KeptTable, keys: KeySet) -> Iterator[pa.RecordBatch]:
        """Yield the rows that the table has of these keys."""
        import pyarrow as pa

        for file in kept.files:
            for batch in self._rows(file):
                mask = keys.holds(as_array(hashes_of(iter([batch]), self.task.keys)))
                if mask.any():
                    yield batch.filter(pa.array(mask))

    def open_rows(self, kept: KeptTable, flag: str) -> Iterator[pa.RecordBatch]:
        """Yield the keys of the rows for which a column is true."""
        for file in kept.files:
            for batch in self._rows(file, (*self.task.keys, flag)):
                yield batch.filter(batch.column(flag)).select(list(self.task.keys))

    def keep(self, kept: KeptTable, wanted: Wanted, generation: int) -> Kept | None:
        """Make the table hold the wanted rows. Return None where somebody else committed meanwhile."""
        import numpy as np

        names = self.task.schema.names
        coming = as_array(hashes_of(wanted.rows(), names))
        coming_keys = as_array(hashes_of(wanted.rows(), self.task.keys))
        leaving = [self._leaving(file, wanted, coming) for file in kept.files]
        same = KeySet(_joined([each.same for each in leaving]))
        known = KeySet(_joined([each.keys for each in leaving]))
        missing, is_known = ~same.holds(coming), known.holds(coming_keys)
        changed = [each for each in leaving if each.mask.any()]
        dropped = sum(int(each.mask.sum()) for each in changed)
        inserted, updated = int((missing & ~is_known).sum()), int((missing & is_known).sum())
        if not changed and not missing.any():
            return Kept(kept.rows)
        rows = kept.rows - dropped + inserted + updated
        try:
            for each in changed:
                self._write_rest(each)
            self._write(selected(wanted.rows(), missing), self.task.schema, int(np.sum(missing)))
            if self.lake.commit_kept(
                self.task.place,
                kept.version,
                self.parts,
                [each.file for each in changed],
                self._facts(generation, rows),
            ):
                return Kept(rows, inserted, updated, dropped - updated)
        finally:
            self.parts = []
        return None

    def _leaving(self, file: str, wanted: Wanted, coming: pa.Array) -> Leaving:
        """Return which rows of a file leave: those of wanted keys that are not as they should be."""
        import numpy as np
        import pyarrow as pa

        keys = as_array(hashes_of(self._rows(file, self.task.keys), self.task.keys))
        touched, gone = wanted.keys.holds(keys), np.zeros(len(keys), bool)
        if wanted.only is not None:
            gone = ~wanted.only.holds(keys) & ~touched
        if not touched.any():
            return Leaving(file, gone, keys.slice(0, 0), keys.slice(0, 0))
        rows = as_array(hashes_of(selected(self._rows(file), touched), self.task.schema.names))
        stays = KeySet(coming).holds(rows)
        mask = gone
        mask[np.flatnonzero(touched)] = ~stays
        return Leaving(file, mask, rows.filter(pa.array(stays)), keys.filter(pa.array(touched)))

    def _rows(self, file: str, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = self.task.schema
        chosen = schema if names is None else pa.schema([schema.field(name) for name in names])
        return self.lake.kept_rows(file, chosen, self.task.request.batch)

    def _write_rest(self, leaving: Leaving) -> None:
        """Write the rows of a file that stay, as they are: with the columns and types of the file."""
        rows = self.lake.read(self.task.place, leaving.file, self.task.request.batch)
        self._write(selected(rows, ~leaving.mask), None, int((~leaving.mask).sum()))

    def _write(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema | None, rows: int) -> None:
        """Write rows into a part and read it back. Raises ProofFailed."""
        from tidegate.hashing.rows import ReceiptBuilder, receipt_of

        if not rows:
            return
        first = next(batches)
        part_of = self.lake.writer(
            self.task.place, self.task.entry.run, f"kept-{uuid.uuid4().hex[:12]}", schema or first.schema
        )
        receipts = ReceiptBuilder()
        try:
            while first is not None:
                part_of.write(first)
                receipts.add(first)
                first = next(batches, None)
            written = receipts.receipt()
            part = part_of.close(self._entry_facts(written, schema or self.task.schema))
        except BaseException:
            part_of.abandon()
            raise
        self.parts.append(part)
        found = receipt_of(self.lake.read(self.task.place, part.id, self.task.request.batch))
        if not found.same_as(written) or written.rows != rows:
            raise ProofFailed(
                f"{self.task.table} {self.task.window}: the lake does not hold what was written (expected {written},"
                f" read back {found}).",
                "Nothing was committed; the table in the lake keeps what it had.",
                "Run again; look for a disk or a store that returns other bytes than it got.",
            )

    def _entry_facts(self, written: Receipt, schema: pa.Schema) -> EntryFacts:
        entry = self.task.entry
        assert entry.token is not None
        return EntryFacts(
            window=self.task.window.text,
            rows=written.rows,
            hash=written.hash,
            columns=tuple(schema.names),
            columns_id=entry.columns_id,
            storage_types=entry.storage_types,
            text_columns=self.task.request.text_columns,
            token=entry.token,
            run=entry.run,
            why="rows of the table as it is",
            read_at="",
            scope="",
        )

    def _facts(self, generation: int, rows: int) -> dict[str, Any]:
        entry = self.task.entry
        return {
            "window": self.task.window.text,
            "run": entry.run,
            "generation": generation,
            "etag": entry.etag,
            "hash": entry.hash,
            "text_columns": list(self.task.request.text_columns),
            "rows": rows,
        }


@dataclass(frozen=True)
class Leaving:
    """Which rows of a file leave, and of the wanted keys what is there."""

    file: str
    mask: Mask
    same: pa.Array
    """Hashes of wanted rows that the file has."""
    keys: pa.Array
    """Hashes of wanted keys that the file has."""


def was_loaded(kept: KeptTable, task: KeptTask, generation: int) -> bool:
    """Return whether a commit of the table has brought this window: of this generation, from this entry of the lake."""
    known = kept.loads.get(task.window.text, {})
    return (known.get("generation"), known.get("etag")) == (generation, task.entry.etag)


def moved(task: KeptTask) -> Transient:
    return Transient(
        f"{task.table} {task.window}: others committed to {task.place.name} in the lake each time.",
        "The table in the lake has what the others committed, and nothing of this window.",
        "Run again when they are done.",
    )


def tries() -> range:
    return range(_TRIES)


def selected(batches: Iterator[pa.RecordBatch], mask: Mask) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a mask that covers all batches."""
    import pyarrow as pa

    start = 0
    for batch in batches:
        chosen = mask[start : start + batch.num_rows]
        start += batch.num_rows
        if chosen.any():
            yield batch.filter(pa.array(chosen))


def _joined(arrays: Sequence[pa.Array]) -> pa.Array:
    import pyarrow as pa

    return pa.concat_arrays(arrays).unique() if arrays else pa.array([], pa.binary(16))
