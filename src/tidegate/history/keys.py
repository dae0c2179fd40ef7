"""Compare keys by hash. A key is its hash, in sixteen bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.hashing.differences import Mask
from tidegate.hashing.rows import hash_rows
from tidegate.history.columns import Scd2Columns
from tidegate.history.versions import KEY, VERSION_KEY, Versions


def business_keys(versions: Versions, selected: Mask | None = None) -> pa.Array:
    """Return the business key of every row, or of the selected rows."""
    words = versions.words(KEY)
    return to_binary(words if selected is None else words[selected])


def version_keys(versions: Versions) -> pa.Array:
    """Return the version key of every row."""
    return to_binary(versions.words(VERSION_KEY))


def hash_keys(batches: Iterable[pa.RecordBatch], keys: Sequence[str]) -> pa.Array:
    """Return the business key of every row of these batches. They need no other columns than `keys`."""
    hashes = [to_binary(hash_rows(batch.select(list(keys)))) for batch in batches]
    return pa.concat_arrays(hashes) if hashes else pa.array([], pa.binary(16))


def hash_version_keys(batches: Iterable[pa.RecordBatch], schema: pa.Schema, columns: Scd2Columns) -> pa.Array | None:
    """Return the version key of every row of these batches, which have the columns of the version key and no others.

    Return None if a column has another type than in `schema`: hashes of different types cannot be compared."""
    types = [schema.field(name).type for name in columns.version_key]
    hashes = []
    for batch in batches:
        if batch.schema.types != types:
            return None
        hashes.append(to_binary(hash_rows(batch)))
    return pa.concat_arrays(hashes) if hashes else pa.array([], pa.binary(16))


def is_in(keys: pa.Array, others: pa.Array) -> Mask:
    """Return which of these keys are among the others."""
    found: Mask = np.asarray(pc.is_in(keys, value_set=others))
    return found


def keys_without_current(versions: Versions) -> pa.Array:
    """Return the keys that have no current version."""
    keys = business_keys(versions)
    return keys.filter(pa.array(~is_in(keys, business_keys(versions, versions.is_current))))


def is_lost(version_keys: pa.Array, extracted: pa.Array, in_source: pa.Array) -> Mask:
    """Return which version keys were extracted from the source once and are no longer in it."""
    return is_in(version_keys, extracted) & ~is_in(version_keys, in_source)


def is_withdrawn(versions: Versions, source_keys: pa.Array) -> Mask:
    """Return which of these versions, none of which the source has, the source has withdrawn.

    The version is current here and the source still has its entity. So the source did not lose old history: it replaced
    the version by another one."""
    return versions.is_current & is_in(business_keys(versions), source_keys)


def to_binary(words: npt.NDArray[np.uint64]) -> pa.Array:
    """Return hashes of two words each as binary values."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(words).tobytes())]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(words), buffers)
