"""Versions as tables, so that they can be divided into buckets by their business key and put together again."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tidegate.hashing.rows import Words
from tidegate.history.columns import Scd2Columns
from tidegate.history.cursors import sort_values
from tidegate.history.versions import CONTENT, HASH_COLUMNS, KEY, STATE, VERSION_KEY, Versions, kept_columns

_IS_CURRENT, _IS_TOMBSTONE = "is_current", "is_tombstone"


def as_table(versions: Versions, columns: Scd2Columns, *, is_complete: bool = False) -> tuple[pa.Table, Words]:
    """Return the versions as a table, and the hashes of their business keys. Unless it is to be complete, it lacks what
    no check needs: the state, where it is the content, and the ignored columns."""
    names = HASH_COLUMNS if is_complete else [*KEY, *VERSION_KEY, *CONTENT, *(STATE if columns.time_columns else ())]
    # Columns of the table are known by number: they may have the name of a hash.
    values = {f"value {number}": column for number, column in enumerate(versions.key_values.columns)}
    flags = {_IS_CURRENT: versions.is_current, _IS_TOMBSTONE: versions.is_tombstone}
    return pa.table({**{name: versions.hashes[name] for name in names}, **values, **flags}), versions.words(KEY)


def as_versions(blocks: Sequence[pa.RecordBatch], schema: pa.Schema, columns: Scd2Columns) -> Versions:
    """Return the versions of these blocks. `schema` is that of all columns, for no blocks at all."""
    kept = kept_columns(columns)
    if not blocks:
        no_hashes = pa.schema([(name, pa.uint64()) for name in HASH_COLUMNS]).empty_table()
        no_flags = [pa.array([], pa.bool_())] * 2
        table = pa.table([*no_hashes, *no_flags], names=[*HASH_COLUMNS, _IS_CURRENT, _IS_TOMBSTONE])
        values = pa.schema([schema.field(name) for name in kept]).empty_table()
    else:
        table = pa.Table.from_batches(blocks)
        values = table.select([f"value {number}" for number in range(len(kept))]).rename_columns(kept)
    known = set(table.column_names)
    stands_for = {**dict(zip(STATE, CONTENT, strict=True)), **dict.fromkeys(HASH_COLUMNS[-2:], KEY[0])}
    hashes = [table[name if name in known else stands_for[name]] for name in HASH_COLUMNS]
    cursors = values[columns.cursor].combine_chunks()
    return Versions(
        hashes=pa.table(hashes, names=HASH_COLUMNS),
        key_values=values,
        cursor_values=cursors,
        sort_values=sort_values(cursors, columns.cursor_kind),
        is_current=table[_IS_CURRENT].to_numpy(),
        is_tombstone=table[_IS_TOMBSTONE].to_numpy(),
        ends=values[columns.end].combine_chunks() if columns.end else None,
    )
