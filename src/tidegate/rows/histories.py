"""Whether a timeline tells the history that its source tells, and any history at all: what a verification finds.

A finding is its check, what it is, and how grave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.model.names import counted
from tidegate.rows.differences import Mask
from tidegate.rows.versions import (
    GROUP,
    KEY,
    ROW,
    STATE,
    Places,
    Versions,
    among,
    first_of_each,
    groups_of,
    keys_of,
    like_before,
    placed,
    taken_back,
    was_lost,
)

Found = tuple[str, str, str]


def in_agreement(
    source: Versions,
    beyond: Versions,
    held: Versions,
    in_scope: Versions,
    there: pa.Array | None,
    landed: Callable[[], pa.Array | None],
    besides: str = "error",
) -> Iterator[Found]:
    """What of the source the target lacks, and what it has in the scope besides. `there` are the keys that the source
    has, where those that left it are closed; `landed` tells the groups that it had once, where anybody can; `besides`
    is how grave it is that the target has more."""
    missing, extra = _absent(source, held), np.intersect1d(_absent(in_scope, source), _absent(in_scope, beyond))
    if there is not None:
        extra = extra[among(keys_of(in_scope), there)[extra]]
        was_there = ~in_scope.flags[extra]
    else:
        was_there = _was_there(source, beyond, in_scope, landed() if len(extra) else None)[extra]
    history, extra = extra[was_there], extra[~was_there]
    if len(history):
        what = f"{counted(len(history), 'version')} that the source lost ({in_scope.names(history)})"
        yield "receipt", f"{what}: kept as history", "note"
    if len(missing):
        yield "receipt", f"{counted(len(missing), 'version')} missing in the target ({source.names(missing)})", "error"
    if len(extra):
        yield "receipt", f"{counted(len(extra), 'version')} only in the target ({in_scope.names(extra)})", besides
    twice = held.rows - len(first_of_each(held))
    if twice:
        yield "scd_integrity", f"{counted(twice, 'version')} more than once there", "error"


def _was_there(source: Versions, beyond: Versions, held: Versions, landed: pa.Array | None) -> Mask:
    """Versions that the source had once, and lost."""
    if landed is None:
        return np.zeros(held.rows, bool)
    keys, groups = (pa.concat_arrays([of(source), of(beyond)]) for of in (keys_of, groups_of))
    return was_lost(groups_of(held), landed, groups) & ~taken_back(held, keys)


def findings(source: Versions, beyond: Versions, held: Versions, *, recompute: bool) -> Iterator[Found]:
    """What the flags of the target do not tell as they should."""
    yield from history(held)
    stale = np.flatnonzero(source.flags & ~_newest_of_each(source))
    if len(stale) and not recompute:
        what = f"{counted(len(stale), 'version')} holding in the source although newer ones are there"
        yield "scd_integrity", f"{what} ({source.names(stale)}): closed in the target", "warning"
    superseded = keys_of(beyond)
    expected = source.may_hold(recompute=recompute) & _newest_of_each(source)
    there = placed(held, np.arange(held.rows)).append_column("held", pa.array(held.flags))
    first = first_of_each(source)
    here = placed(source, first).append_column("expected", pa.array(expected[first]))
    both = here.join(there, [*GROUP, *ROW], join_type="inner", right_suffix="_there")
    unlike = both.filter(pc.not_equal(both["expected"], both["held"]))["place"].to_numpy()
    keys = keys_of(source)
    unlike = unlike[~among(keys, superseded)[unlike]]
    # Of versions with one mark only one can hold: where one does, it is judged by itself.
    closed = unlike[expected[unlike]]
    closed = closed[~among(keys, keys_of(held, held.flags))[closed]]
    still_open = unlike[~expected[unlike]]
    if len(closed):
        yield (
            "scd_integrity",
            f"{counted(len(closed), 'version')} holding in the source alone ({source.names(closed)})",
            "error",
        )
    if len(still_open):
        what = f"{counted(len(still_open), 'version')} holding in the target alone ({source.names(still_open)})"
        yield "scd_integrity", what, "error"


def made_in_agreement(source: Versions, held: Versions) -> Iterator[Found]:
    """Whether the version that holds of each key says what the source says now."""
    now = _states(source, np.flatnonzero(~source.tombstones))
    holding = _states(held, np.flatnonzero(held.flags))
    both = now.join(holding, KEY, join_type="left outer", right_suffix="_held")
    found = both["place_held"].is_valid()
    unlike = pc.or_(*(pc.not_equal(both[name], both[f"{name}_held"]) for name in STATE))
    missing = both.filter(pc.invert(found))["place"].to_numpy()
    other = both.filter(pc.and_(found, pc.fill_null(unlike, False)))["place"].to_numpy()
    if len(missing):
        yield "receipt", f"{counted(len(missing), 'key')} without a version holding ({source.names(missing)})", "error"
    if len(other):
        yield (
            "receipt",
            f"{counted(len(other), 'version')} holding, unlike what the source says ({source.names(other)})",
            "error",
        )


def still_holding(held: Versions, there: pa.Array, severity: str, *, flagged: bool) -> Iterator[Found]:
    """Keys that left the source, of which a version holds; where no flag says so, of which one has no end."""
    holding = held.flags if flagged or held.ends is None else np.asarray(held.ends.is_null())
    left = np.flatnonzero(holding & ~among(keys_of(held), there))
    if len(left):
        yield "receipt", f"{counted(len(left), 'key')} holding that left the source ({held.names(left)})", severity


def _states(side: Versions, places: Places) -> pa.Table:
    chosen = side.hashes.select([*KEY, *STATE]).take(pa.array(places))
    return chosen.append_column("place", pa.array(places))


def history(held: Versions) -> Iterator[Found]:
    """What the flags of a timeline do not tell as they should, whatever the source says."""
    more = _repeated_keys(held, np.flatnonzero(held.flags))
    if len(more):
        yield (
            "scd_integrity",
            f"{counted(len(more), 'key')} with more than one version holding ({held.names(more)})",
            "error",
        )
    stale = np.flatnonzero(held.flags & ~_newest_of_each(held))
    if len(stale):
        what = f"{counted(len(stale), 'version')} holding although newer ones are there ({held.names(stale)})"
        yield "scd_integrity", what, "error"
    late, early = _ends_beside_the_next(held)
    if len(late):
        yield (
            "scd_integrity",
            f"{counted(len(late), 'version')} ending after the next begins ({held.names(late)})",
            "error",
        )
    if len(early):
        yield "gaps", f"{counted(len(early), 'version')} ending before the next begins ({held.names(early)})", "note"


def _ends_beside_the_next(side: Versions) -> tuple[Places, Places]:
    """Versions that do not end where the next one of their key begins: those that overlap it, and those with a gap."""
    nothing = np.zeros(0, np.int64)
    if side.ends is None or not side.rows:
        return nothing, nothing
    table = side.hashes.select(KEY).append_column("mark", side.marks).append_column("end", side.ends)
    table = table.append_column("order", side.order)
    table = table.append_column("place", pa.array(np.arange(side.rows)))
    # Of versions with one mark all but the last end where they begin.
    table = table.sort_by([(name, "ascending") for name in (*KEY, "order", "end")])
    followed = like_before(table, KEY, shifted=True)[:-1]
    ends, nexts = table["end"].combine_chunks()[:-1], table["mark"].combine_chunks()[1:].cast(side.ends.type)
    places = table["place"].to_numpy()[:-1]
    late = followed & np.asarray(pc.fill_null(pc.greater(ends, nexts), True))
    early = followed & np.asarray(pc.fill_null(pc.less(ends, nexts), False))
    return places[late], places[early]


def _absent(side: Versions, other: Versions) -> Places:
    """Places of versions that the other side does not have; one for rows that are there more than once."""
    here = placed(side, first_of_each(side))
    there = placed(other, np.arange(other.rows)).select([*GROUP, *ROW])
    return np.sort(here.join(there, [*GROUP, *ROW], join_type="left anti")["place"].to_numpy())


def _repeated_keys(side: Versions, places: Places) -> Places:
    chosen = side.hashes.select(KEY).take(pa.array(places)).append_column("place", pa.array(places))
    keys = chosen.group_by(KEY).aggregate([("place", "count"), ("place", "min")])
    return np.sort(keys.filter(pc.greater(keys["place_count"], 1))["place_min"].to_numpy())


def several_current(batch: Versions) -> Places:
    """Return one row of each key of which several different rows say that they are current. Equal rows count once."""
    first = first_of_each(batch)
    return _repeated_keys(batch, first[batch.may_hold(recompute=False)[first]])


def _newest_of_each(side: Versions) -> Mask:
    """Rows that no other row of their key is newer than; those of one mark all count."""
    if not side.rows:
        return np.zeros(0, bool)
    table = side.hashes.select(KEY).append_column("mark", side.order)
    table = table.append_column("place", pa.array(np.arange(side.rows)))
    greatest = table.group_by(KEY).aggregate([("mark", "max")])
    both = table.join(greatest, KEY)
    mask = np.zeros(side.rows, bool)
    mask[both.filter(pc.equal(both["mark"], both["mark_max"]))["place"].to_numpy()] = True
    return mask
