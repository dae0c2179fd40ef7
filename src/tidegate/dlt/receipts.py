"""Receipts of what a destination holds, and of what it should hold by the entries of the lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidegate.dlt.destination import Destination
from tidegate.errors import ValueProblem
from tidegate.hashing.arrow import arrow_type
from tidegate.model.receipt import Receipt
from tidegate.model.state import LakeEntry
from tidegate.runs.lake_rows import LakeRows

if TYPE_CHECKING:
    import pyarrow as pa


def held(destination: Destination, rows: LakeRows, types: Mapping[str, str], window: str | None = None) -> Receipt:
    """Return count and hash of the rows in the destination, of a window or of the table, in the types of the lake."""
    from tidegate.hashing.rows import ReceiptBuilder

    receipts = ReceiptBuilder()
    for table in destination.batches(rows.name, types, window):
        for batch in _in_types(table, types, rows.key).to_batches():
            receipts.add(batch)
    return receipts.receipt()


def written(rows: LakeRows, window: str, entry: LakeEntry, keys: Sequence[str]) -> Receipt:
    """Return the receipt that an entry has in the destination. Rows are merged by `keys`, and an entry where rows share
    a key cannot be proved: which of them counts is not told. Raises ValueProblem for it."""
    if keys:
        import numpy as np

        from tidegate.hashing.rows import hash_rows

        hashes = [hash_rows(batch.select(list(keys))) for batch in rows.batches(entry, list(keys))]
        if hashes and len(np.unique(np.concatenate(hashes), axis=0)) < entry.rows:
            raise ValueProblem(
                f"{rows.key} {window}: rows of this entry share a key ({', '.join(keys)}).",
                "The entry was delivered; which of these rows counts was not proved.",
                "Name `keys` that one row has alone.",
            )
    return Receipt(entry.rows, entry.hash)


def newest_rows(rows: LakeRows, types: Mapping[str, str]) -> Receipt:
    """Return the receipt of the newest row of each key, over all entries of a log."""
    import numpy as np

    from tidegate.hashing.rows import hash_rows, sum_hashes

    keys, contents = [], []
    for _, entry in reversed(rows.entries):
        for batch in rows.batches(entry):
            table = _padded(batch, types)
            keys.append(hash_rows(table.select(list(rows.keys))))
            contents.append(hash_rows(table))
    if not keys:
        return Receipt.EMPTY
    # `unique` returns the first place of each key, and the newest entries come first.
    _, first = np.unique(np.concatenate(keys), axis=0, return_index=True)
    newest = np.concatenate(contents)[first]
    return Receipt.of_sum(len(newest), sum_hashes(newest))


def _padded(batch: pa.RecordBatch, types: Mapping[str, str]) -> pa.Table:
    """Return the rows in all columns of the table, null where an older entry lacks one."""
    import pyarrow as pa

    have = set(batch.schema.names)
    arrays = [
        batch.column(name).cast(arrow_type(kind)) if name in have else pa.nulls(len(batch), arrow_type(kind))
        for name, kind in types.items()
    ]
    return pa.Table.from_arrays(arrays, names=list(types))


def _in_types(table: pa.Table, types: Mapping[str, str], key: str) -> pa.Table:
    import pyarrow as pa

    columns = []
    for name, kind in types.items():
        try:
            columns.append(_cast(table[name], arrow_type(kind)))
        except pa.ArrowException as problem:
            raise ValueProblem(
                f"{key}: the destination has {name} as {table[name].type}, which cannot be compared with {kind}:"
                f" {str(problem).splitlines()[0]}",
                "The rows were delivered; they were not proved.",
                f"Compare {name} by hand, or write `columns: {{{name}: text}}` for this table.",
            ) from None
    return pa.table(columns, names=list(types))


def _cast(values: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_time(wanted) and pa.types.is_string(values.type):
        # Delta has no times of a day: dlt writes them as text.
        values = pc.binary_join_element_wise("1970-01-01", values, " ").cast(pa.timestamp("us"))
    return values.cast(wanted)
