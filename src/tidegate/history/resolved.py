"""Write the resolved flags and ends into rows, and compare rows that were read back with the expected ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.hashing.differences import Mask
from tidegate.hashing.rows import hash_rows, receipt_of
from tidegate.history.columns import Scd2Columns
from tidegate.history.versions import CONTENT, KEY, Versions
from tidegate.model.names import pluralize
from tidegate.model.receipt import Receipt


def resolve_rows(
    batches: Iterator[pa.RecordBatch], is_current: Mask, ends: pa.Array | None, columns: Scd2Columns
) -> Iterator[pa.RecordBatch]:
    """Yield the rows with these flags and ends, which cover the rows of all batches."""
    start = 0
    for batch in batches:
        stop = start + batch.num_rows
        yield set_validity(batch, is_current[start:stop], None if ends is None else ends[start:stop], columns)
        start = stop


def set_validity(
    batch: pa.RecordBatch, is_current: Mask, ends: pa.Array | None, columns: Scd2Columns
) -> pa.RecordBatch:
    """Return the batch with these values in its flag and end columns, as far as the table has them."""
    if columns.flag is not None:
        index = batch.schema.get_field_index(columns.flag)
        field = batch.schema.field(index)
        batch = batch.set_column(index, field, columns.format_flags(is_current, field.type))
    if columns.end is not None and ends is not None:
        index = batch.schema.get_field_index(columns.end)
        field = batch.schema.field(index)
        batch = batch.set_column(index, field, ends.cast(field.type))
    return batch


def resolve_existing_rows(
    batches: Iterator[pa.RecordBatch], expected_existing: pa.Table, columns: Scd2Columns
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that `expected_existing` has, with the flags and ends that it has. Other rows are dropped."""
    validity: dict[tuple[int, ...], list[tuple[bool, Any]]] = {}
    for row in expected_existing.to_pylist():
        validity.setdefault(tuple(row[name] for name in (*KEY, *CONTENT)), []).append((row["flag"], row.get("end")))
    for batch in batches:
        content = [name for name in batch.schema.names if name not in columns.ignored]
        keys, contents = hash_rows(batch.select(list(columns.keys))), hash_rows(batch.select(content))
        identities = [tuple(map(int, (*key, *content))) for key, content in zip(keys, contents, strict=True)]
        found = [validity[identity].pop() if validity.get(identity) else None for identity in identities]
        kept = [flag_and_end for flag_and_end in found if flag_and_end is not None]
        if kept:
            rows = batch.filter(pa.array([flag_and_end is not None for flag_and_end in found]))
            is_current = np.array([flag for flag, _ in kept])
            ends = pa.array([end for _, end in kept], batch.schema.field(columns.end).type) if columns.end else None
            yield set_validity(rows, is_current, ends, columns)


def describe_mismatch(expected: pa.Table, found: Versions) -> str:
    """Return how a timeline that was read back differs from the expected one; empty when it does not."""
    actual = _as_expected(found)
    if found.ends is not None:
        actual = actual.set_column(actual.num_columns - 1, "end", ends_as_text(found.ends))
        expected = expected.set_column(expected.num_columns - 1, "end", ends_as_text(expected["end"].combine_chunks()))
    if _sort_by_hash(expected).equals(_sort_by_hash(actual)):
        return ""
    columns = actual.column_names
    sides = [side.group_by(columns).aggregate([([], "count_all")]) for side in (expected, actual)]
    both = sides[0].join(sides[1], columns, join_type="full outer", right_suffix="_actual")
    expected_count, actual_count = (pc.fill_null(both[name], 0) for name in ("count_all", "count_all_actual"))
    missing = pc.sum(pc.greater(expected_count, actual_count)).as_py() or 0
    unexpected = pc.sum(pc.less(expected_count, actual_count)).as_py() or 0
    return (
        f"{pluralize(missing, 'version')} missing or different, {unexpected:,} unexpected"
        if missing + unexpected
        else ""
    )


def rows_as_receipt(rows: pa.Table) -> Receipt:
    """Return what such rows as `TimelineWrites.expected` add up to: key, content, flag and end of each version."""
    if "end" in rows.column_names:
        rows = rows.set_column(rows.num_columns - 1, "end", ends_as_text(rows["end"].combine_chunks()))
    return receipt_of([rows])


def timeline_as_receipt(versions: Versions) -> Receipt:
    """Return what versions of the target add up to, likewise."""
    return rows_as_receipt(_as_expected(versions))


def _as_expected(versions: Versions) -> pa.Table:
    rows = versions.hashes.select([*KEY, *CONTENT]).append_column("flag", pa.array(versions.is_current))
    return rows if versions.ends is None else rows.append_column("end", versions.ends)


def ends_as_text(ends: pa.Array) -> pa.Array:
    """Return the ends as text that can be compared: `open` for null, without trailing zeros of a fraction.

    A join does not treat nulls as equal, and servers fill up fractions with zeros."""
    texts = pc.replace_substring_regex(ends.cast(pa.string()), r"(\.\d*?)0+$", r"\1")
    return pc.fill_null(pc.utf8_rtrim(texts, "."), "open")


def _sort_by_hash(rows: pa.Table) -> pa.Table:
    """Return the rows in the order of one word of their hash.

    A few rows may share that word and be in any order. So tables that compare as equal are equal, and others need the
    full comparison."""
    return rows.take(pa.array(np.argsort(rows[CONTENT[0]].to_numpy(), kind="stable"))).combine_chunks()
