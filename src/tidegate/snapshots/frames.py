"""Frames that users hand in: of pandas, Polars, Arrow and Spark, as Arrow batches with the hashes of their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tidegate.errors import ConfigError, ValueProblem
from tidegate.snapshots.layout import as_text, binary, duplicate_keys, require_keys

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.sha256 import Digests

UNTOUCHED = "Nothing was written."
BATCH_ROWS = 10_000
BATCH_BYTES = 8 * 2**20


class HashedBatch(NamedTuple):
    """Rows of a frame, the hash of the business key of each, and its row hash."""

    rows: pa.RecordBatch
    keys: Digests
    hashes: Digests


class Hashing(NamedTuple):
    """Which columns the hashes of a frame cover."""

    business_key: Sequence[str]
    columns: Sequence[str]

    def of(self, rows: pa.RecordBatch) -> HashedBatch:
        """Return the rows with their hashes. Raises ValueProblem for a business key without a value."""
        from tidegate.hashing.sha256 import hash_rows

        require_keys(rows, self.business_key)
        return HashedBatch(rows, hash_rows(rows, self.business_key), hash_rows(rows, self.columns))


class Frame(ABC):
    """Rows that somebody handed in."""

    kind: str
    schema: pa.Schema

    def hashing(self, business_key: Sequence[str], ignore_columns: Sequence[str]) -> Hashing:
        """Return which columns are hashed. Raises ConfigError for a business key that the frame does not have."""
        names = self.schema.names
        missing = [name for name in business_key if name not in names]
        if missing:
            raise ConfigError(
                f"The frame has no column {', '.join(map(repr, missing))}, which the business key needs.",
                UNTOUCHED,
                f"Its columns are {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}.",
            )
        return Hashing(tuple(business_key), tuple(name for name in names if name not in ignore_columns))

    @abstractmethod
    def batches(self, hashing: Hashing) -> Iterator[HashedBatch]:
        """Yield all rows once, with their hashes."""

    @abstractmethod
    def split(self, hashing: Hashing, new: pa.Array, changed: pa.Array) -> tuple[Any, Any, Any]:
        """Return the new, the changed and the other rows, as frames of the kind that was handed in.

        `new` and `changed` are hashes of business keys."""

    @abstractmethod
    def from_arrow(self, table: pa.Table) -> Any:
        """Return other rows as a frame of the kind that was handed in."""

    def refuse_duplicates(self, hashing: Hashing) -> None:
        """Raise ValueProblem for rows with the same business key, where finding them needs no second pass."""
        return

    def longest_text(self, name: str) -> int:
        """Return the characters of the longest text of a column, where finding it needs no second pass; else 0."""
        return 0


class MemoryFrame(Frame):
    """A frame that lies in memory. Its hashes are computed once."""

    def __init__(self, kind: str, table: pa.Table, original: Any) -> None:
        self.kind, self.schema, self._table, self._original = kind, table.schema, table, original
        self._hashed: list[HashedBatch] | None = None

    def batches(self, hashing: Hashing) -> Iterator[HashedBatch]:
        if self._hashed is None:
            rows = max(1, min(BATCH_ROWS, BATCH_BYTES * max(self._table.num_rows, 1) // max(self._table.nbytes, 1)))
            self._hashed = [hashing.of(batch) for batch in self._table.to_batches(max_chunksize=rows)]
        yield from self._hashed

    def refuse_duplicates(self, hashing: Hashing) -> None:
        problem = duplicate_keys(self._table.select(list(hashing.business_key)), self._keys(hashing))
        if problem is not None:
            raise problem

    def split(self, hashing: Hashing, new: pa.Array, changed: pa.Array) -> tuple[Any, Any, Any]:
        import numpy as np
        import pyarrow.compute as pc

        keys = self._keys(hashing)
        is_new, is_changed = (np.asarray(pc.is_in(keys, value_set=found)) for found in (new, changed))
        masks = (is_new, is_changed, ~is_new & ~is_changed)
        added, altered, others = (self._selected(np.flatnonzero(mask)) for mask in masks)
        return added, altered, others

    def longest_text(self, name: str) -> int:
        import pyarrow.compute as pc

        if name not in self.schema.names:
            return 0
        lengths = [pc.max(pc.utf8_length(as_text(rows, name))).as_py() or 0 for rows in self._table.to_batches()]
        return max(lengths, default=0)

    def from_arrow(self, table: pa.Table) -> Any:
        return convert(table, self.kind)

    def _keys(self, hashing: Hashing) -> pa.Array:
        import pyarrow as pa

        found = [binary(batch.keys) for batch in self.batches(hashing)]
        return pa.concat_arrays(found) if found else pa.array([], pa.binary())

    def _selected(self, positions: Any) -> Any:
        import pyarrow as pa

        if self.kind == "pandas":
            return self._original.iloc[positions]
        if self.kind == "polars":
            return self._original[positions]
        return self._table.take(pa.array(positions))


class StreamedFrame(Frame):
    """A pyarrow dataset: it is read batch by batch, and once more for the rows that changed."""

    kind = "arrow"

    def __init__(self, dataset: Any) -> None:
        self.schema, self._dataset = dataset.schema, dataset

    def batches(self, hashing: Hashing) -> Iterator[HashedBatch]:
        for batch in self._dataset.to_batches(batch_size=BATCH_ROWS):
            if batch.num_rows:
                yield hashing.of(batch)

    def split(self, hashing: Hashing, new: pa.Array, changed: pa.Array) -> tuple[Any, Any, Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        found: list[list[pa.RecordBatch]] = [[], []]
        for batch in self.batches(hashing):
            for rows, keys in zip(found, (new, changed), strict=True):
                rows.append(batch.rows.filter(pc.is_in(binary(batch.keys), value_set=keys)))
        added, altered = (pa.Table.from_batches(rows, self.schema) for rows in found)
        return added, altered, None

    def from_arrow(self, table: pa.Table) -> pa.Table:
        return table


def convert(table: pa.Table, kind: str) -> Any:
    """Return rows in memory as a frame of `pandas`, `polars` or `arrow`."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def open_frame(frame: Any) -> Frame:
    """Return the rows of a frame of pandas, Polars, Arrow or Spark. Raises ConfigError for anything else."""
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return _in_memory("arrow", frame, frame)
    package = type(frame).__module__.partition(".")[0]
    if package == "polars":
        collected = frame.collect() if hasattr(frame, "collect") else frame
        return _in_memory("polars", collected.to_arrow(), collected)
    if package == "pyspark":
        from tidegate.snapshots.spark_frames import SparkFrame

        return SparkFrame(frame)
    if package == "pandas":
        return _in_memory("pandas", _from_pandas(frame), frame)
    if hasattr(frame, "to_batches") and hasattr(frame, "schema"):
        return StreamedFrame(frame)
    raise ConfigError(
        f"Rows cannot be taken from {type(frame).__name__}.",
        UNTOUCHED,
        "Pass a DataFrame of pandas, Polars or Spark, a pyarrow.Table, or a pyarrow dataset.",
    )


def _in_memory(kind: str, table: pa.Table, original: Any) -> MemoryFrame:
    names = table.schema.names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ConfigError(
            f"The frame has several columns named {', '.join(repeated)}.", UNTOUCHED, "Give each a name of its own."
        )
    return MemoryFrame(kind, table, original)


def _from_pandas(frame: Any) -> pa.Table:
    """Return a pandas frame as Arrow. The index is no data: a row has the same hash wherever it stands."""
    import pyarrow as pa

    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as problem:
        words = "; ".join(str(part) for part in problem.args)
        raise ValueProblem(
            f"The frame has a column with values of several types: {words}.",
            UNTOUCHED,
            'Give the column one type, as in df[column] = df[column].astype("string").',
        ) from None
    except ValueError as problem:
        raise ConfigError(f"The frame cannot be read: {problem}.", UNTOUCHED, "Correct the frame.") from None
