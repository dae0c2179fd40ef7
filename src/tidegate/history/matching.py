"""Match the rows of a batch with the rows of a timeline, by hash.

Two rows match if they are the same version. Of the remaining rows, two with the same version key are a row and its
changed successor: somebody changed the row in place.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.hashing.differences import Mask, Positions, sort_equal_together
from tidegate.history.versions import CONTENT, IGNORED, VERSION_KEY, Versions, table_with_positions

_IDENTITY = [*VERSION_KEY, *CONTENT]
"""Rows with equal words in these columns are the same version."""


def match_versions(batch: Versions, timeline: Versions, distinct: Positions) -> tuple[Positions, Positions]:
    """Return the positions, in the batch and in the timeline, of versions that both have.

    `distinct` are the rows of the batch to look at, one per version."""
    batch_rows = table_with_positions(batch, _IDENTITY, distinct)
    timeline_rows = table_with_positions(timeline, _IDENTITY, np.arange(timeline.rows))
    first_rows = timeline_rows.group_by(_IDENTITY).aggregate([("position", "min")])
    matches = batch_rows.join(first_rows, _IDENTITY, join_type="inner").sort_by("position")
    return matches["position"].to_numpy(), matches["position_min"].to_numpy()


def differ_in_ignored(batch: Versions, timeline: Versions, matched: Positions, matches: Positions) -> Mask:
    """Return which matched versions differ in their ignored columns, flag and end excepted."""
    differs = np.zeros(len(matched), bool)
    for name in IGNORED:
        differs |= batch.column(name)[matched] != timeline.column(name)[matches]
    return differs


def match_changed_rows(
    batch: Versions, timeline: Versions, unmatched: Positions, matches: Positions
) -> tuple[Positions, Positions, Positions]:
    """Return the new rows of the batch, its rows that were changed in place, and their old rows in the timeline.

    `unmatched` are the rows of the batch that the timeline does not have; `matches` are the rows of the timeline that
    the batch has."""
    others = remove_positions(np.arange(timeline.rows), matches)
    words = [batch.words(VERSION_KEY)[unmatched], timeline.words(VERSION_KEY)[others]]
    order, equals_next = sort_equal_together(np.concatenate(words))
    first, second = order[:-1][equals_next], order[1:][equals_next]
    if (first < len(unmatched)).all() and (second >= len(unmatched)).all():  # no version key twice in one side
        is_changed = np.zeros(len(unmatched), bool)
        is_changed[first] = True
        in_batch_order = np.argsort(first)
        return unmatched[~is_changed], unmatched[is_changed], others[second[in_batch_order] - len(unmatched)]
    return _pair_by_rank(batch, timeline, unmatched, others)


def remove_positions(positions: Positions, removed: Positions) -> Positions:
    """Return the positions without the removed ones, in their order."""
    is_kept = np.ones(max(positions.max(initial=-1), removed.max(initial=-1)) + 1, bool)
    is_kept[removed] = False
    return positions[is_kept[positions]]


def _pair_by_rank(
    batch: Versions, timeline: Versions, unmatched: Positions, others: Positions
) -> tuple[Positions, Positions, Positions]:
    """Pair rows with the same version key: the first of the batch with the first of the timeline, and so on."""
    batch_rows, timeline_rows = _rank_rows(batch, unmatched), _rank_rows(timeline, others)
    rows = batch_rows.join(
        timeline_rows, [*VERSION_KEY, "rank"], join_type="left outer", right_suffix="_in_timeline"
    ).sort_by("position")
    is_new = rows["position_in_timeline"].is_null()
    pairs = rows.filter(pc.invert(is_new))
    new = rows.filter(is_new)["position"].to_numpy()
    return new, pairs["position"].to_numpy(), pairs["position_in_timeline"].to_numpy()


def _rank_rows(versions: Versions, positions: Positions) -> pa.Table:
    """Return these rows with their `rank`: the number of each row among those of its version key, by content hash."""
    table = table_with_positions(versions, _IDENTITY, positions)
    table = table.sort_by([(name, "ascending") for name in _IDENTITY])
    words = np.stack([table[name].to_numpy() for name in VERSION_KEY], axis=1)
    is_first = np.ones(len(words), bool)
    is_first[1:] = (words[1:] != words[:-1]).any(axis=1)
    numbers = np.arange(len(words))
    first_numbers = np.maximum.accumulate(np.where(is_first, numbers, 0)) if len(words) else numbers
    return table.select([*VERSION_KEY, "position"]).append_column("rank", pa.array(numbers - first_numbers))
