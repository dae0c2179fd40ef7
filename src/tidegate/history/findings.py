"""Find where a table of versions differs from its source, and where its own history is inconsistent.

Every finding is about single keys. So the rows may be divided by their key, and the findings of all parts added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.hashing.differences import Mask, Positions
from tidegate.history.finding import HistoryFinding, Kind
from tidegate.history.keys import business_keys, is_in, is_lost, is_withdrawn, version_keys
from tidegate.history.versions import (
    CONTENT,
    KEY,
    STATE,
    VERSION_KEY,
    Versions,
    distinct_versions,
    equals_next,
    table_with_positions,
)

_IDENTITY = [*VERSION_KEY, *CONTENT]

# Against the source


def compare_with_source(
    source: Versions,
    later_source: Versions,
    target: Versions,
    target_in_scope: Versions,
    source_keys: pa.Array | None,
    read_extracted: Callable[[], pa.Array | None],
    extra_severity: str = "error",
) -> Iterator[HistoryFinding]:
    """Yield which versions of the source the target lacks, and which versions of the scope only the target has.

    Args:
        later_source: versions of the source that are too new to be loaded already.
        source_keys: all keys of the source, where keys that left the source are closed in the target; else None.
        read_extracted: returns the version keys that were ever extracted; None if that is not known.
        extra_severity: the severity of versions that only the target has.
    """
    missing = _absent_versions(source, target)
    not_in_source, not_later = (_absent_versions(target_in_scope, side) for side in (source, later_source))
    extra = np.intersect1d(not_in_source, not_later)
    if source_keys is not None:
        extra = extra[is_in(business_keys(target_in_scope), source_keys)[extra]]
        is_history = ~target_in_scope.is_current[extra]
    else:
        extracted = read_extracted() if len(extra) else None
        is_history = _is_history(source, later_source, target_in_scope, extracted)[extra]
    history, extra = extra[is_history], extra[~is_history]
    yield from _found(Kind.LOST, target_in_scope, history, "note")
    yield from _found(Kind.MISSING, source, missing)
    yield from _found(Kind.EXTRA, target_in_scope, extra, extra_severity)
    duplicates = target.rows - len(distinct_versions(target))
    if duplicates:
        yield HistoryFinding(Kind.DUPLICATE, duplicates)


def compare_generated_with_source(source: Versions, target: Versions) -> Iterator[HistoryFinding]:
    """Yield the keys of a plain source whose current version is missing or does not equal the source row."""
    source_rows = table_with_positions(source, [*KEY, *STATE], np.flatnonzero(~source.is_tombstone))
    current_rows = table_with_positions(target, [*KEY, *STATE], np.flatnonzero(target.is_current))
    both = source_rows.join(current_rows, KEY, join_type="left outer", right_suffix="_target")
    has_current = both["position_target"].is_valid()
    differs = pc.or_(*(pc.not_equal(both[name], both[f"{name}_target"]) for name in STATE))
    missing = both.filter(pc.invert(has_current))["position"].to_numpy()
    different = both.filter(pc.and_(has_current, pc.fill_null(differs, False)))["position"].to_numpy()
    yield from _found(Kind.NO_CURRENT, source, missing)
    yield from _found(Kind.DIFFERENT, source, different)


def check_deleted_keys(
    target: Versions, source_keys: pa.Array, severity: str, *, has_flag: bool
) -> Iterator[HistoryFinding]:
    """Yield the keys that left the source and still have a current version: a flagged one, else one without an end."""
    is_current = target.is_current if has_flag or target.ends is None else np.asarray(target.ends.is_null())
    left = np.flatnonzero(is_current & ~is_in(business_keys(target), source_keys))
    yield from _found(Kind.NOT_CLOSED, target, left, severity)


def check_flags(
    source: Versions, later_source: Versions, target: Versions, *, recompute_flags: bool
) -> Iterator[HistoryFinding]:
    """Yield what is wrong with the flags and ends of the target, by themselves and compared with the source."""
    yield from check_history(target)
    stale = np.flatnonzero(source.is_current & ~_is_newest_of_key(source))
    if not recompute_flags:
        yield from _found(Kind.STALE_IN_SOURCE, source, stale, "warning")
    expected = source.may_be_current(recompute_flags=recompute_flags) & _is_newest_of_key(source)
    different = _versions_with_other_flag(source, target, expected)
    keys = business_keys(source)
    # The target does not know the later versions yet, which will close these.
    different = different[~is_in(keys, business_keys(later_source))[different]]
    # Of versions with one cursor value only one can be current: a key with a current version is not reported again.
    only_source = different[expected[different]]
    only_source = only_source[~is_in(keys, business_keys(target, target.is_current))[only_source]]
    only_target = different[~expected[different]]
    yield from _found(Kind.CURRENT_IN_SOURCE, source, only_source)
    yield from _found(Kind.CURRENT_IN_TARGET, source, only_target)


def _found(kind: Kind, versions: Versions, positions: Positions, severity: str = "error") -> Iterator[HistoryFinding]:
    """Yield the finding about these rows; none where there are none."""
    if len(positions):
        yield HistoryFinding(kind, len(positions), tuple(versions.examples(positions)), severity)


def _versions_with_other_flag(source: Versions, target: Versions, expected: Mask) -> Positions:
    """Return the versions of the source that the target has with another flag than expected."""
    distinct = distinct_versions(source)
    source_rows = table_with_positions(source, _IDENTITY, distinct)
    source_rows = source_rows.append_column("expected", pa.array(expected[distinct]))
    target_rows = table_with_positions(target, _IDENTITY, np.arange(target.rows))
    target_rows = target_rows.append_column("actual", pa.array(target.is_current))
    both = source_rows.join(target_rows, _IDENTITY, join_type="inner", right_suffix="_target")
    different: Positions = both.filter(pc.not_equal(both["expected"], both["actual"]))["position"].to_numpy()
    return different


def _absent_versions(versions: Versions, others: Versions) -> Positions:
    """Return the versions that the other side does not have, each once."""
    distinct = table_with_positions(versions, _IDENTITY, distinct_versions(versions))
    other_rows = others.hashes.select(_IDENTITY)
    return np.sort(distinct.join(other_rows, _IDENTITY, join_type="left anti")["position"].to_numpy())


def _is_history(source: Versions, later_source: Versions, target: Versions, extracted: pa.Array | None) -> Mask:
    """Return which versions of the target the source had once and has lost. Nothing is history if that is unknown."""
    if extracted is None:
        return np.zeros(target.rows, bool)
    keys, in_source = (pa.concat_arrays([of(source), of(later_source)]) for of in (business_keys, version_keys))
    return is_lost(version_keys(target), extracted, in_source) & ~is_withdrawn(target, keys)


# Without the source


def check_history(target: Versions) -> Iterator[HistoryFinding]:
    """Yield what is wrong with the flags and ends of a timeline by themselves, whatever the source has."""
    several = _repeated_keys(target, np.flatnonzero(target.is_current))
    yield from _found(Kind.SEVERAL_CURRENT, target, several)
    stale = np.flatnonzero(target.is_current & ~_is_newest_of_key(target))
    yield from _found(Kind.STALE, target, stale)
    overlapping, early = _overlaps_and_gaps(target)
    yield from _found(Kind.OVERLAP, target, overlapping)
    yield from _found(Kind.GAP, target, early, "note")


def several_current(batch: Versions) -> Positions:
    """Return one row of each key of which several different rows say that they are current. Equal rows count once."""
    distinct = distinct_versions(batch)
    return _repeated_keys(batch, distinct[batch.may_be_current(recompute_flags=False)[distinct]])


def _overlaps_and_gaps(versions: Versions) -> tuple[Positions, Positions]:
    """Return the versions that end after the next one of their key starts, and those that end before it starts."""
    nothing = np.zeros(0, np.int64)
    if versions.ends is None or not versions.rows:
        return nothing, nothing
    table = table_with_positions(versions, KEY, np.arange(versions.rows))
    table = table.append_column("cursor", versions.cursor_values).append_column("end", versions.ends)
    table = table.append_column("sort_value", versions.sort_values)
    # Of versions with one cursor value, all but the last end where they start.
    table = table.sort_by([(name, "ascending") for name in (*KEY, "sort_value", "end")])
    has_next = equals_next(table, KEY)[:-1]
    ends = table["end"].combine_chunks()[:-1]
    next_starts = table["cursor"].combine_chunks()[1:].cast(versions.ends.type)
    positions = table["position"].to_numpy()[:-1]
    overlaps = has_next & np.asarray(pc.fill_null(pc.greater(ends, next_starts), True))
    has_gap = has_next & np.asarray(pc.fill_null(pc.less(ends, next_starts), False))
    return positions[overlaps], positions[has_gap]


def _repeated_keys(versions: Versions, positions: Positions) -> Positions:
    """Return the first of these rows for each key that has more than one of them."""
    keys = table_with_positions(versions, KEY, positions).group_by(KEY)
    counts = keys.aggregate([("position", "count"), ("position", "min")])
    return np.sort(counts.filter(pc.greater(counts["position_count"], 1))["position_min"].to_numpy())


def _is_newest_of_key(versions: Versions) -> Mask:
    """Return the rows with the greatest cursor value of their key; several rows may have it."""
    mask = np.zeros(versions.rows, bool)
    if not versions.rows:
        return mask
    table = table_with_positions(versions, KEY, np.arange(versions.rows))
    table = table.append_column("sort_value", versions.sort_values)
    greatest = table.group_by(KEY).aggregate([("sort_value", "max")])
    both = table.join(greatest, KEY)
    mask[both.filter(pc.equal(both["sort_value"], both["sort_value_max"]))["position"].to_numpy()] = True
    return mask
