"""Compare two snapshots cell by cell: which columns changed, from what to what; and the history of one record.

Rows that changed are few, so they are read whole. Rows that did not change are read as their hashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.model.snapshots import Archive
from tidegate.snapshots.archive import ArchiveStore
from tidegate.snapshots.frames import HashedBatch, Hashing
from tidegate.snapshots.layout import binary, hexadecimal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

BATCH_ROWS = 10_000


@dataclass(frozen=True)
class CellChanges:
    """Cells that differ between two versions of the same rows."""

    cells: pa.Table
    """One row per cell: the business key, `column`, `before` and `after` as text."""
    columns: Mapping[str, int]
    """How many rows differ in a column."""


@dataclass(frozen=True)
class Comparison:
    """What happened between two snapshots."""

    new: pa.Table
    changed: pa.Table
    """The changed rows as the later snapshot has them."""
    deleted: pa.Table
    unchanged: int
    changes: CellChanges


def hashed_archive(
    store: ArchiveStore, archive: Archive, business_key: Sequence[str], ignore_columns: Sequence[str]
) -> Iterator[HashedBatch]:
    """Yield the rows of an archive with their hashes."""
    with store.open(archive) as file:
        names = tuple(name for name in file.schema_arrow.names if name not in ignore_columns)
        hashing = Hashing(tuple(business_key), names)
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            yield hashing.of(batch)


def rows_with_keys(batches: Iterable[HashedBatch], keys: pa.Array, schema: pa.Schema) -> tuple[pa.Table, pa.Array]:
    """Return the rows whose key hash is among `keys`, sorted by it, and the sorted hashes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, found = [], []
    for batch in batches:
        hashes = binary(batch.keys)
        is_wanted = pc.is_in(hashes, value_set=keys)
        rows.append(batch.rows.filter(is_wanted))
        found.append(hashes.filter(is_wanted))
    table = pa.Table.from_batches(rows, schema)
    hashes = pa.concat_arrays(found) if found else pa.array([], pa.binary())
    order = pc.sort_indices(hashes)
    return table.take(order), hashes.take(order)


def cell_changes(before: pa.Table, after: pa.Table, business_key: Sequence[str]) -> CellChanges:
    """Compare rows of the same keys, in the same order. A column that one side lacks differs in every row."""
    import numpy as np
    import pyarrow as pa

    names = [*after.schema.names, *(name for name in before.schema.names if name not in after.schema.names)]
    counts, pieces = {}, []
    for name in names:
        differs = _differs(before, after, name)
        positions = np.flatnonzero(differs)
        if not positions.size:
            continue
        counts[name] = int(positions.size)
        chosen = pa.array(positions)
        keys = [_texts(after, key, chosen) for key in business_key]
        columns = [
            *keys,
            pa.repeat(pa.scalar(name), len(chosen)),
            _texts(before, name, chosen),
            _texts(after, name, chosen),
        ]
        pieces.append(pa.Table.from_arrays(columns, [*business_key, "column", "before", "after"]))
    schema = pa.schema([(name, pa.string()) for name in (*business_key, "column", "before", "after")])
    cells = pa.concat_tables(pieces) if pieces else schema.empty_table()
    return CellChanges(cells, counts)


def _differs(before: pa.Table, after: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    import numpy as np

    from tidegate.hashing.sha256 import hash_rows

    if name not in before.schema.names or name not in after.schema.names:
        return np.ones(after.num_rows, bool)
    left, right = (hash_rows(table.select([name])) for table in (before, after))
    differs: npt.NDArray[np.bool_] = (left != right).any(axis=1)
    return differs


def _texts(table: pa.Table, name: str, positions: pa.Array) -> pa.Array:
    import pyarrow as pa

    from tidegate.snapshots.layout import as_text

    chosen = table.take(positions).combine_chunks()
    batches = chosen.to_batches()
    if not batches:
        return pa.array([], pa.string())
    return pa.concat_arrays([as_text(batch, name) for batch in batches])


def compare_archives(
    store: ArchiveStore, before: Archive, after: Archive, business_key: Sequence[str], ignore_columns: Sequence[str]
) -> Comparison:
    """Compare two archives by their hashes, then the changed rows cell by cell."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    hashes = [_hashes(hashed_archive(store, archive, business_key, ignore_columns)) for archive in (before, after)]
    positions = pc.index_in(hashes[1][0], value_set=hashes[0][0])
    is_new = np.asarray(pc.is_null(positions))
    known = np.flatnonzero(~is_new)
    partners = positions.take(pa.array(known))
    same = np.asarray(pc.equal(hashes[1][1].take(pa.array(known)), hashes[0][1].take(partners)))
    new = hashes[1][0].filter(pa.array(is_new))
    changed = hashes[1][0].take(pa.array(known[~same.astype(bool)]))
    deleted = hashes[0][0].filter(pc.invert(pc.is_in(hashes[0][0], value_set=hashes[1][0])))

    def rows(archive: Archive, keys: pa.Array) -> pa.Table:
        with store.open(archive) as file:
            schema = file.schema_arrow
        return rows_with_keys(hashed_archive(store, archive, business_key, ignore_columns), keys, schema)[0]

    earlier, later = rows(before, changed), rows(after, changed)
    return Comparison(
        new=rows(after, new),
        changed=later,
        deleted=rows(before, deleted),
        unchanged=int(same.sum()),
        changes=cell_changes(earlier, later, business_key),
    )


def _hashes(batches: Iterable[HashedBatch]) -> tuple[pa.Array, pa.Array]:
    import pyarrow as pa

    keys, rows = [pa.array([], pa.binary())], [pa.array([], pa.binary())]
    for batch in batches:
        keys.append(binary(batch.keys))
        rows.append(binary(batch.hashes))
    return pa.concat_arrays(keys), pa.concat_arrays(rows)


def record_history(
    store: ArchiveStore, archives: Iterable[Archive], key: Mapping[str, Any], ignore_columns: Sequence[str]
) -> list[dict[str, Any]]:
    """Return one record as each archive has it, the oldest first. Only its columns of the key are read at first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = []
    for archive in sorted(archives, key=lambda archive: archive.snapshot_date):
        with store.open(archive) as file:
            names = tuple(name for name in file.schema_arrow.names if name not in ignore_columns)
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, columns=list(key))
                is_wanted = pa.chunked_array([pa.repeat(True, rows.num_rows)])
                for name, value in key.items():
                    is_wanted = pc.and_(is_wanted, pc.equal(rows[name], pa.scalar(value).cast(rows[name].type)))
                if not pc.any(is_wanted).as_py():
                    continue
                for batch in file.read_row_group(group).filter(is_wanted).to_batches():
                    hashed = Hashing(tuple(key), names).of(batch)
                    for row, digest in zip(batch.to_pylist(), hexadecimal(hashed.hashes).to_pylist(), strict=True):
                        about = {"snapshot_date": archive.snapshot_date, "archive_id": archive.archive_id}
                        found.append({**about, "row_hash": digest, **row})
    return found
