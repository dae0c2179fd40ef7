"""Merge a batch of versions into a timeline: decide what to insert, update, close, reopen and remove.

A timeline is all versions that the target has of some keys. The result is the same in whatever order batches arrive,
and however often. The rules:

 1. A version that the timeline does not have is inserted, once.
 2. A row of the batch and a row of the timeline with the same version key and different content are one row that was
    changed in place. The same goes for equal content and different ignored columns. A newer batch updates the row; an
    older batch does not.
 3. The newest version of a key is current if its flag marks it as current. With `recompute_flags` the flag does not
    count: the newest version is current if it has no end. No other version of the key is current, and a tombstone
    never is.
 4. A version ends where the next version of its key starts, or earlier if it has an earlier end of its own. Tables
    without an end column skip this.
 5. With `drop_unchanged` (generated versions), a version is dropped if the version before it has the same state and
    had not ended by then.
 6. With `source_keys`, a key that the source does not have was deleted: its newest version ends by the time of the
    read and is not current. When the key is back, its newest version is current again. Without an end column,
    `keep_closed` keeps a deleted key closed until a newer batch has a row of it.
 7. With `complete_range`, a version in the range that the batch does not have is removed, unless it is history that
    the source has lost.

Everything is computed from hashes and cursor values. Nothing is read or written here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.hashing.differences import Positions
from tidegate.history.keys import business_keys, is_in, is_lost, is_withdrawn, keys_without_current, version_keys
from tidegate.history.matching import differ_in_ignored, match_changed_rows, match_versions, remove_positions
from tidegate.history.merged import MergedTimeline, MergeRows
from tidegate.history.rules import MergeRules
from tidegate.history.versions import KEY, Versions, distinct_versions
from tidegate.history.writes import TimelineWrites, plan_writes


def merge_versions(batch: Versions, timeline: Versions, rules: MergeRules) -> TimelineWrites:
    """Return the writes that merge the batch into the timeline of its keys."""
    distinct = distinct_versions(batch)
    matched, matches = match_versions(batch, timeline, distinct)
    unmatched = remove_positions(distinct, matched)
    new, updating, updated = match_changed_rows(batch, timeline, unmatched, matches)
    if rules.batch_is_newer:
        differs = differ_in_ignored(batch, timeline, matched, matches)
        updating = np.concatenate([updating, matched[differs]])
        updated = np.concatenate([updated, matches[differs]])
    else:
        updating, updated = updating[:0], updated[:0]
    surplus = _surplus_versions(batch, timeline, np.concatenate([matches, updated]), rules)
    staying = remove_positions(np.arange(timeline.rows), np.concatenate([updated, surplus]))
    rows = MergeRows(new, updating, updated, staying)
    as_in_source = _as_in_source(batch, timeline, matched, matches, rules)
    merged = MergedTimeline.of(batch, as_in_source, rows, keys_without_current(timeline), rules)
    writes = plan_writes(batch, timeline, rows, merged.resolve(rules))
    return replace(writes, removed=np.concatenate([writes.removed, surplus]))


def _surplus_versions(batch: Versions, timeline: Versions, in_batch: Positions, rules: MergeRules) -> Positions:
    """Return the versions of `complete_range` that the batch does not have and that are not history."""
    if rules.complete_range is None:
        return np.zeros(0, np.int64)
    low, high = rules.complete_range
    is_surplus = np.ones(timeline.rows, bool)
    if low is not None:
        is_surplus &= np.asarray(pc.greater_equal(timeline.sort_values, low))
    if high is not None:
        is_surplus &= np.asarray(pc.less_equal(timeline.sort_values, high))
    is_surplus[in_batch] = False
    if rules.source_keys is not None:  # versions of deleted keys are closed; versions that are not current are history
        is_surplus &= is_in(business_keys(timeline), rules.source_keys) & timeline.is_current
    if rules.extracted_version_keys is not None:
        lost = is_lost(version_keys(timeline), rules.extracted_version_keys, version_keys(batch))
        if rules.drop_unchanged:  # a plain source has only the last state of a key: the earlier ones are history
            is_surplus &= timeline.is_current & ~lost
        elif rules.source_keys is None:
            is_surplus &= ~lost | is_withdrawn(timeline, business_keys(batch))
    return np.flatnonzero(is_surplus)


def _as_in_source(
    batch: Versions, timeline: Versions, matched: Positions, matches: Positions, rules: MergeRules
) -> Versions:
    """Return the timeline with the flags and ends that its rows have in the source, as far as they are known.

    Flags and ends that an earlier merge computed do not count. A newer batch has the flags and ends that are valid."""
    ends = _own_ends(timeline)
    if not rules.batch_is_newer:
        return replace(timeline, ends=ends)
    is_current = timeline.is_current.copy()
    is_current[matches] = batch.is_current[matched]
    if batch.ends is not None and ends is not None:
        positions = np.arange(timeline.rows) + len(batch.ends)
        positions[matches] = matched
        ends = pa.concat_arrays([batch.ends, ends]).take(pa.array(positions))
    return replace(timeline, is_current=is_current, ends=ends)


def _own_ends(timeline: Versions) -> pa.Array | None:
    """Return the ends of the timeline, null where another version of the key starts at that end.

    An earlier merge computed such an end, so it must move when the other version does."""
    if timeline.ends is None:
        return None
    cursors = timeline.cursor_values.cast(timeline.ends.type)
    keys = timeline.hashes.select(KEY)
    starts = keys.append_column("end", cursors).group_by([*KEY, "end"]).aggregate([([], "count_all")])
    ends = keys.append_column("end", timeline.ends).append_column("position", pa.array(np.arange(timeline.rows)))
    starts_at_end = ends.join(starts, [*KEY, "end"], join_type="left outer").sort_by("position")["count_all"]
    starts_itself = pc.equal(timeline.ends, cursors).cast(pa.int64())
    others = pc.subtract(starts_at_end, starts_itself).combine_chunks()
    is_computed = pc.fill_null(pc.greater(others, 0), False)
    return pc.if_else(is_computed, pa.scalar(None, timeline.ends.type), timeline.ends)
