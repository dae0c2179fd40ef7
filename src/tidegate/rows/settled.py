"""Rows of a timeline as they were decided: each with its flag and its end, and whether they are found so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.model.names import counted
from tidegate.rows.differences import Mask
from tidegate.rows.hashing import hash_rows
from tidegate.rows.versions import KEY, ROW, Form, Versions


def differs(expected: pa.Table, found: Versions) -> str:
    """What a timeline that was read again has otherwise than expected; empty when nothing."""
    held = found.hashes.select([*KEY, *ROW]).append_column("flag", pa.array(found.flags))
    if found.ends is not None:
        held = held.append_column("end", ends_as_text(found.ends))
        expected = expected.set_column(expected.num_columns - 1, "end", ends_as_text(expected["end"].combine_chunks()))
    if _in_order(expected).equals(_in_order(held)):
        return ""
    content = held.column_names
    sides = [side.group_by(content).aggregate([([], "count_all")]) for side in (expected, held)]
    both = sides[0].join(sides[1], content, join_type="full outer", right_suffix="_held")
    here, there = (pc.fill_null(both[name], 0) for name in ("count_all", "count_all_held"))
    missing, more = pc.greater(here, there), pc.less(here, there)
    lost, added = pc.sum(missing).as_py() or 0, pc.sum(more).as_py() or 0
    return f"{counted(lost, 'version')} not as it should be, {added:,} should not be there" if lost + added else ""


def _in_order(rows: pa.Table) -> pa.Table:
    """By one word of their hash alone, which leaves the order of few of them to chance: what is equal then is equal."""
    return rows.take(pa.array(np.argsort(rows[ROW[0]].to_numpy(), kind="stable"))).combine_chunks()


def ends_as_text(ends: pa.Array) -> pa.Array:
    """A join takes no nulls for equal. Servers fill up fractions with zeros."""
    texts = pc.replace_substring_regex(ends.cast(pa.string()), r"(\.\d*?)0+$", r"\1")
    return pc.fill_null(pc.utf8_rtrim(texts, "."), "open")


def settle(
    batches: Iterator[pa.RecordBatch], flags: Mask, ends: pa.Array | None, form: Form
) -> Iterator[pa.RecordBatch]:
    """The same rows, each saying whether it holds and where it ends."""
    place = 0
    for batch in batches:
        after = place + batch.num_rows
        yield with_validity(batch, flags[place:after], None if ends is None else ends[place:after], form)
        place = after


def with_validity(batch: pa.RecordBatch, flags: Mask, ends: pa.Array | None, form: Form) -> pa.RecordBatch:
    if form.flag is not None:
        position = batch.schema.get_field_index(form.flag)
        field = batch.schema.field(position)
        batch = batch.set_column(position, field, form.spelled(flags, field.type))
    if form.end is not None and ends is not None:
        position = batch.schema.get_field_index(form.end)
        field = batch.schema.field(position)
        batch = batch.set_column(position, field, ends.cast(field.type))
    return batch


def settled_again(batches: Iterator[pa.RecordBatch], staying: pa.Table, form: Form) -> Iterator[pa.RecordBatch]:
    """Rows that are written anew, as is expected of each; what does not stay is left out."""
    said: dict[tuple[int, ...], list[tuple[bool, Any]]] = {}
    for row in staying.to_pylist():
        said.setdefault(tuple(row[name] for name in (*KEY, *ROW)), []).append((row["flag"], row.get("end")))
    for batch in batches:
        content = [name for name in batch.schema.names if name not in form.outside]
        keys, rows = hash_rows(batch.select(list(form.keys))), hash_rows(batch.select(content))
        names = [tuple(map(int, (*key, *row))) for key, row in zip(keys, rows, strict=True)]
        found = [said[name].pop() if said.get(name) else None for name in names]
        kept = [one for one in found if one is not None]
        if kept:
            chosen = batch.filter(pa.array([one is not None for one in found]))
            flags = np.array([flag for flag, _ in kept])
            ends = pa.array([end for _, end in kept], batch.schema.field(form.end).type) if form.end else None
            yield with_validity(chosen, flags, ends, form)
