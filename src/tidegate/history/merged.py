"""Put rows of a batch and of a timeline together, and find which are kept, which are current and where each ends.

The rules are in `timelines.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.hashing.differences import Mask, Positions
from tidegate.history.keys import business_keys, is_in
from tidegate.history.rules import MergeRules
from tidegate.history.versions import CONTENT, KEY, STATE, Versions, equals_next, equals_previous


@dataclass(frozen=True)
class MergeRows:
    """The rows that take part in a merge, by their positions in the batch and in the timeline."""

    new: Positions
    """Rows of the batch that the timeline does not have."""
    updating: Positions
    """Rows of the batch that replace a row of the timeline: `updating[i]` replaces `updated[i]`."""
    updated: Positions
    """Rows of the timeline that are replaced."""
    staying: Positions
    """Rows of the timeline that stay, though their flag and end may change."""

    @property
    def written(self) -> Positions:
        """Return the rows of the batch that are written."""
        return np.concatenate([self.updating, self.new])


@dataclass(frozen=True)
class Validity:
    """The result for every row: the written rows of the batch, followed by the staying rows of the timeline."""

    is_kept: Mask
    """The row stays in the timeline; others repeat the state before them."""
    is_current: Mask
    ends: pa.Array | None


@dataclass(frozen=True)
class MergedTimeline:
    """The rows of the batch that are written, followed by the rows of the timeline that stay."""

    table: pa.Table
    """Key, content and state hashes, `cursor`, `sort_value`, `may_be_current`, and the row's `position` in here."""
    keys: pa.Array
    ends: pa.Array | None
    is_tombstone: Mask
    is_from_batch: Mask
    closed_keys: pa.Array
    """Keys that had no current version in the timeline before the merge."""

    @classmethod
    def of(
        cls,
        batch: Versions,
        timeline: Versions,
        rows: MergeRows,
        closed_keys: pa.Array,
        rules: MergeRules,
    ) -> MergedTimeline:
        """Put the written rows of the batch and the staying rows of the timeline together."""
        written, staying = rows.written, rows.staying
        hashes: dict[str, Any] = {
            name: np.concatenate([batch.column(name)[written], timeline.column(name)[staying]])
            for name in (*KEY, *CONTENT, *STATE)
        }
        cursors = _concat_rows(batch.cursor_values, timeline.cursor_values, written, staying)
        sort_values = _concat_rows(batch.sort_values, timeline.sort_values, written, staying)
        in_batch, in_timeline = (
            side.may_be_current(recompute_flags=rules.recompute_flags) for side in (batch, timeline)
        )
        may_be_current = np.concatenate([in_batch[written], in_timeline[staying]])
        positions = np.arange(len(may_be_current))
        more = {"cursor": cursors, "sort_value": sort_values, "may_be_current": may_be_current, "position": positions}
        ends = None
        if batch.ends is not None and timeline.ends is not None:
            ends = _concat_rows(batch.ends, timeline.ends, written, staying)
        return cls(
            table=pa.table({**hashes, **more}),
            keys=_concat_rows(business_keys(batch), business_keys(timeline), written, staying),
            ends=ends,
            is_tombstone=np.concatenate([batch.is_tombstone[written], timeline.is_tombstone[staying]]),
            is_from_batch=positions < len(written),
            closed_keys=closed_keys,
        )

    def resolve(self, rules: MergeRules) -> Validity:
        """Return which rows are kept, which are current, and where each ends."""
        # Of two versions with one cursor value the one that is marked as current is the later one, else the hash of
        # the content decides.
        sort_columns = (*KEY, "sort_value", "may_be_current", *CONTENT)
        table = self.table.sort_by([(name, "ascending") for name in sort_columns])
        positions = table["position"].to_numpy()
        kept = ~self._is_unchanged(table, positions) if rules.drop_unchanged else np.ones(len(positions), bool)
        table, kept_positions = table.filter(pa.array(kept)), positions[kept]
        is_last = ~equals_next(table, KEY)
        is_current, is_kept = np.zeros(len(positions), bool), np.zeros(len(positions), bool)
        is_kept[kept_positions] = True
        is_current[kept_positions] = is_last
        is_current &= self._newest_is_current(rules)
        ends = self._resolve_ends(table, kept_positions, is_last, rules, self._is_reopened(positions, kept, rules))
        if ends is not None and rules.recompute_flags:
            is_current &= np.asarray(ends.is_null())
        return Validity(is_kept, is_current, ends)

    def _newest_is_current(self, rules: MergeRules) -> Mask:
        """Return for each row whether it is current if it is the newest of its key."""
        may_be: Mask = ~self.is_tombstone if rules.recompute_flags else np.asarray(self.table["may_be_current"])
        if rules.source_keys is not None and rules.batch_is_newer:
            return may_be & is_in(self.keys, rules.source_keys)
        if rules.recompute_flags and rules.keep_closed:
            is_closed = is_in(self.keys, self.closed_keys)
            return may_be & (~is_closed | (self.is_from_batch & rules.batch_is_newer))
        return may_be

    def _is_unchanged(self, table: pa.Table, positions: Positions) -> Mask:
        """Return versions with the state of the version before them, if that one had not ended by then."""
        same_state = equals_previous(table, [*KEY, *STATE])
        if self.ends is None or not len(positions):
            return same_state
        previous_ends = self.ends.take(pa.array(np.concatenate([positions[:1], positions[:-1]])))
        cursors = table["cursor"].combine_chunks().cast(previous_ends.type)
        was_open = pc.fill_null(pc.greater_equal(previous_ends, cursors), True)
        is_unchanged: Mask = same_state & np.asarray(was_open)
        return is_unchanged

    def _is_reopened(self, positions: Positions, kept: Mask, rules: MergeRules) -> Mask:
        """Return versions to reopen: the batch repeats their state."""
        is_reopened = np.zeros(len(positions), bool)
        if rules.batch_is_newer and len(positions):
            last_kept = np.maximum.accumulate(np.where(kept, np.arange(len(positions)), 0))
            is_reopened[positions[last_kept[~kept & self.is_from_batch[positions]]]] = True
        return is_reopened

    def _resolve_ends(
        self, table: pa.Table, positions: Positions, is_last: Mask, rules: MergeRules, is_reopened: Mask
    ) -> pa.Array | None:
        """Return where each version ends: at the start of the next one, or earlier if its own end is earlier."""
        if self.ends is None:
            return None
        cursors = table["cursor"].combine_chunks()
        following = np.append(np.arange(1, len(positions)), 0)[: len(positions)]
        next_starts = pc.if_else(pa.array(is_last), pa.scalar(None, cursors.type), cursors.take(pa.array(following)))
        next_starts = self._end_deleted_keys(cursors, next_starts, positions, rules)
        own_ends = pc.if_else(pa.array(is_reopened), pa.scalar(None, self.ends.type), self.ends)
        own_ends = own_ends.take(pa.array(positions))
        resolved = _earlier(own_ends, next_starts.cast(own_ends.type))
        # A row that is not kept has its old end: nobody reads it.
        return spread(resolved, positions, self.ends)

    def _end_deleted_keys(
        self, cursors: pa.Array, next_starts: pa.Array, positions: Positions, rules: MergeRules
    ) -> pa.Array:
        """Return the starts of the next versions, or the time of the read for a key that the source did not have."""
        if rules.source_keys is None or rules.source_keys_as_of is None:
            return next_starts
        as_of = rules.source_keys_as_of.cast(cursors.type)
        is_deleted = pa.array(~is_in(self.keys, rules.source_keys)[positions])
        was_newest = pc.fill_null(pc.greater(next_starts, as_of), True)
        # A future-dated version of a deleted key ends where it starts.
        deleted_at = pc.if_else(pc.greater(cursors, as_of), cursors, as_of) if rules.batch_is_newer else as_of
        has_started = pc.less_equal(cursors, deleted_at)
        return pc.if_else(pc.and_(is_deleted, pc.and_(was_newest, has_started)), deleted_at, next_starts)


def spread(values: pa.Array, positions: Positions, defaults: pa.Array) -> pa.Array:
    """Return `defaults` with `values` at these positions."""
    indices = np.full(len(defaults), -1)
    indices[positions] = np.arange(len(positions))
    return pc.if_else(pa.array(indices >= 0), values.take(pa.array(np.maximum(indices, 0))), defaults)


def _earlier(ends: pa.Array, others: pa.Array) -> pa.Array:
    """Return the lesser of two values each; where one is null, the other.

    Arrow's own min_element_wise does not accept timestamps with a zone."""
    takes_first = pc.or_(others.is_null(), pc.fill_null(pc.less_equal(ends, others), False))
    return pc.if_else(takes_first, ends, others)


def _concat_rows(in_batch: pa.Array, in_timeline: pa.Array, written: Positions, staying: Positions) -> pa.Array:
    return pa.concat_arrays([in_batch.take(pa.array(written)), in_timeline.take(pa.array(staying))])
