"""Which rows of a batch and of a timeline belong together: those that are the same version, and those of one group of
which one was changed in place. Told by hashes alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.rows.differences import Mask, neighbours
from tidegate.rows.versions import ASIDE, GROUP, ROW, Places, Versions, placed, words_of


def differ_aside(batch: Versions, timeline: Versions, matched: Places, theirs: Places) -> Mask:
    """Versions whose content is the same, and what is outside of it, but for flag and end, is not."""
    unlike = np.zeros(len(matched), bool)
    for name in ASIDE:
        unlike |= batch.column(name)[matched] != timeline.column(name)[theirs]
    return unlike


def known_versions(batch: Versions, timeline: Versions, first: Places) -> tuple[Places, Places]:
    """Places on both sides of versions that are there already."""
    here = placed(batch, first)
    there = placed(timeline, np.arange(timeline.rows)).group_by([*GROUP, *ROW]).aggregate([("place", "min")])
    both = here.join(there, [*GROUP, *ROW], join_type="inner").sort_by("place")
    return both["place"].to_numpy(), both["place_min"].to_numpy()


def without(places: Places, some: Places) -> Places:
    """The others, in their order."""
    left = np.ones(max(places.max(initial=-1), some.max(initial=-1)) + 1, bool)
    left[some] = False
    return places[left[places]]


def new_and_changed(batch: Versions, timeline: Versions, new: Places, known: Places) -> tuple[Places, Places, Places]:
    """New versions to be inserted, and pairs of what was changed in place: one of the batch, one of the timeline."""
    others = without(np.arange(timeline.rows), known)
    groups = [words_of(batch, GROUP)[new], words_of(timeline, GROUP)[others]]
    order, same = neighbours(np.concatenate(groups))
    one, next_one = order[:-1][same], order[1:][same]
    if (one < len(new)).all() and (next_one >= len(new)).all():  # no group has two rows of one side
        is_paired = np.zeros(len(new), bool)
        is_paired[one] = True
        in_order = np.argsort(one)
        return new[~is_paired], new[is_paired], others[next_one[in_order] - len(new)]
    return _paired_by_rank(batch, timeline, new, others)


def _paired_by_rank(batch: Versions, timeline: Versions, new: Places, others: Places) -> tuple[Places, Places, Places]:
    here, there = _ranked(batch, new), _ranked(timeline, others)
    both = here.join(there, [*GROUP, "rank"], join_type="left outer", right_suffix="_there").sort_by("place")
    alone = both["place_there"].is_null()
    pairs = both.filter(pc.invert(alone))
    return both.filter(alone)["place"].to_numpy(), pairs["place"].to_numpy(), pairs["place_there"].to_numpy()


def _ranked(side: Versions, places: Places) -> pa.Table:
    """With the number of each row among those of its group."""
    table = placed(side, places).sort_by([(name, "ascending") for name in (*GROUP, *ROW)])
    groups = np.stack([table[name].to_numpy() for name in GROUP], axis=1)
    begins = np.ones(len(groups), bool)
    begins[1:] = (groups[1:] != groups[:-1]).any(axis=1)
    numbers = np.arange(len(groups))
    starts = np.maximum.accumulate(np.where(begins, numbers, 0)) if len(groups) else numbers
    return table.select([*GROUP, "place"]).append_column("rank", pa.array(numbers - starts))
