"""Plan the writes that turn a timeline into its merged form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.hashing.differences import Mask, Positions, sort_equal_together
from tidegate.history.merged import MergeRows, Validity, spread
from tidegate.history.resolved import ends_as_text
from tidegate.history.versions import CONTENT, KEY, VERSION_KEY, Versions, table_with_positions


@dataclass(frozen=True)
class TimelineWrites:
    """The writes of a merge. Masks select rows of the batch, positions select rows of the timeline.

    A row is updated by its version key. Where rows share a version key, only their content tells them apart: they are
    deleted and inserted again."""

    inserted: Mask
    """Rows of the batch to insert."""
    changed: Mask
    """Rows of the batch that update the only row with their version key."""
    is_current: Mask
    """For every row of the batch that is written: whether it is current."""
    ends: pa.Array | None
    """For every row of the batch that is written: where it ends."""
    closed: Positions
    """Rows of the timeline that are no longer current, or that get another end."""
    reopened: Positions
    """Rows of the timeline that become current."""
    timeline_ends: pa.Array | None
    """Where each row of the timeline ends after the merge."""
    rewritten: Positions
    """Rows of the timeline to delete and insert again, because they share their version key with other rows."""
    removed: Positions
    """Rows of the timeline to delete: replaced rows that share a version key, unchanged states, surplus versions."""
    expected: pa.Table
    """The timeline after the merge: hashes of key and content, `flag`, and `end` if there is one."""
    expected_existing: pa.Table
    """The rows of `expected` that the timeline has already."""


def plan_writes(batch: Versions, timeline: Versions, rows: MergeRows, validity: Validity) -> TimelineWrites:
    """Return the writes that give these rows their validity."""
    updating, updated, staying, written = rows.updating, rows.updated, rows.staying, rows.written
    batch_part, timeline_part = slice(0, len(written)), slice(len(written), None)
    is_shared = _shares_version_key(timeline)
    is_current, is_kept = np.zeros(batch.rows, bool), np.zeros(batch.rows, bool)
    is_current[written] = validity.is_current[batch_part]
    is_kept[written] = validity.is_kept[batch_part]
    is_alone = ~is_shared[updated]
    in_place = is_alone & is_kept[updating]
    inserted = np.concatenate([rows.new, updating[~is_alone]])
    inserted = inserted[is_kept[inserted]]
    moved = _moved_rows(timeline, staying, validity, timeline_part)
    moved_is_current, moved = validity.is_current[timeline_part][moved], staying[moved]
    # Versions are reopened after the inserts. By then an inserted row may share their version key.
    is_rewritten = is_shared[moved] | (moved_is_current & _gets_rows(timeline, batch, inserted)[moved])
    expected = _expected_rows(batch, timeline, rows, validity)
    return TimelineWrites(
        inserted=_mask(batch, inserted),
        changed=_mask(batch, updating[in_place]),
        is_current=is_current,
        ends=_ends_of_side(validity.ends, batch_part, written, batch.ends),
        closed=moved[~moved_is_current & ~is_rewritten],
        reopened=moved[moved_is_current & ~is_rewritten],
        timeline_ends=_ends_of_side(validity.ends, timeline_part, staying, timeline.ends),
        rewritten=moved[is_rewritten],
        removed=np.concatenate([updated[~in_place], staying[~validity.is_kept[timeline_part]]]),
        expected=expected,
        expected_existing=expected.slice(int(validity.is_kept[batch_part].sum())),
    )


def _moved_rows(timeline: Versions, staying: Positions, validity: Validity, timeline_part: slice) -> Positions:
    """Return which of the staying rows get another flag or end, as positions in `staying`."""
    differs = timeline.is_current[staying] != validity.is_current[timeline_part]
    if validity.ends is not None and timeline.ends is not None:
        new_ends, old_ends = validity.ends[timeline_part], timeline.ends.take(pa.array(staying))
        differs |= np.asarray(pc.not_equal(ends_as_text(new_ends), ends_as_text(old_ends)))
    return np.flatnonzero(differs & validity.is_kept[timeline_part])


def _ends_of_side(
    ends: pa.Array | None, part: slice, positions: Positions, old_ends: pa.Array | None
) -> pa.Array | None:
    """Return where every row of one side ends: `ends[part]` at these positions, its old end elsewhere."""
    if ends is None or old_ends is None:
        return None
    resolved = ends[part]
    return spread(resolved, positions, old_ends) if len(resolved) else old_ends


def _expected_rows(batch: Versions, timeline: Versions, rows: MergeRows, validity: Validity) -> pa.Table:
    written, staying = rows.written, rows.staying
    columns = {
        name: np.concatenate([batch.column(name)[written], timeline.column(name)[staying]]) for name in (*KEY, *CONTENT)
    }
    table = pa.table({**columns, "flag": validity.is_current})
    if validity.ends is not None:
        table = table.append_column("end", validity.ends)
    return table.filter(pa.array(validity.is_kept))


def _shares_version_key(timeline: Versions) -> Mask:
    """Return which rows of the timeline have the version key of another row."""
    order, equals_next = sort_equal_together(timeline.words(VERSION_KEY))
    is_shared = np.zeros(timeline.rows, bool)
    is_shared[order[:-1][equals_next]] = is_shared[order[1:][equals_next]] = True
    return is_shared


def _gets_rows(timeline: Versions, batch: Versions, inserted: Positions) -> Mask:
    """Return which rows of the timeline have the version key of an inserted row."""
    inserted_keys = table_with_positions(batch, VERSION_KEY, inserted).select(VERSION_KEY)
    timeline_rows = table_with_positions(timeline, VERSION_KEY, np.arange(timeline.rows))
    shared = timeline_rows.join(inserted_keys, VERSION_KEY, join_type="left semi")
    return _mask(timeline, shared["position"].to_numpy())


def _mask(versions: Versions, positions: Positions) -> Mask:
    mask = np.zeros(versions.rows, bool)
    mask[positions] = True
    return mask
