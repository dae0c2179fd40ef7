"""The expected content of an SCD2 table, computed from the definition without the code under test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

Key = tuple[Hashable, ...]
ABSENT = object()
"""The observed state of a key that is not in the source."""


@dataclass(frozen=True)
class Version:
    """A version of a key from a cursor on, in the source or in the target."""

    key: Key
    cursor: Any
    content: tuple[object, ...]
    outside: tuple[object, ...] = ()
    holds: bool = False
    end: Any = None
    is_tombstone: bool = False


def disagreements(
    source: Iterable[Version], target: Iterable[Version], *, recompute: bool = False, with_ends: bool = False
) -> list[str]:
    """Return the differences between the target and the versions that the source defines.

    * Every version exists once, and its ignored columns equal the source.
    * The newest version of a key is current if its flag says so or if flags are recomputed, and if it is no tombstone.
      Of several versions with the newest cursor one is current, chosen from those whose flag says so.
    * A version ends where the next one starts, unless it has an earlier end. Of several versions with one cursor, all
      but one end there, and the current version is the last. If flags are recomputed, an ended version is not current.
    """
    expected, actual = _by_key(_without_duplicates(source)), _by_key(target)
    return [
        f"{key}: {what}"
        for key in sorted({*expected, *actual}, key=repr)
        for what in _differences_of_key(expected.get(key, []), actual.get(key, []), recompute, with_ends)
    ]


def _without_duplicates(versions: Iterable[Version]) -> Iterator[Version]:
    """Merge equal rows into one version, which is current if one of the rows is."""
    found: dict[tuple[object, ...], Version] = {}
    for version in versions:
        name = (version.key, version.cursor, version.content)
        if name not in found or version.holds:
            found[name] = version
    return iter(found.values())


def _by_key(versions: Iterable[Version]) -> dict[Key, list[Version]]:
    found: dict[Key, list[Version]] = {}
    for version in versions:
        found.setdefault(version.key, []).append(version)
    return found


def _differences_of_key(
    expected: list[Version], actual: list[Version], recompute: bool, with_ends: bool
) -> Iterator[str]:
    expected_cells = Counter((version.cursor, version.content, version.outside) for version in expected)
    actual_cells = Counter((version.cursor, version.content, version.outside) for version in actual)
    if expected_cells != actual_cells:
        missing, added = expected_cells - actual_cells, actual_cells - expected_cells
        yield f"lacks {list(missing.elements())}, has besides {list(added.elements())}"
        return
    cursors = sorted({version.cursor for version in expected})
    for cursor, following in pairwise([*cursors, None]):
        tied = [version for version in expected if version.cursor == cursor]
        found = {
            version.content: (version.holds, version.end if with_ends else None)
            for version in actual
            if version.cursor == cursor
        }
        allowed = list(_allowed(tied, following, recompute, with_ends))
        if found not in allowed:
            yield f"at {cursor} (holds, ends) {found}, and not {' or '.join(map(str, allowed))}"


def _allowed(
    tied: list[Version], following: Any, recompute: bool, with_ends: bool
) -> Iterator[dict[object, tuple[bool, Any]]]:
    """Yield the allowed results: for each content, whether it is current and where it ends. A tie allows several."""
    is_open = [version for version in tied if not version.is_tombstone and not (with_ends and version.end is not None)]
    candidates = is_open if recompute else [version for version in tied if not version.is_tombstone and version.holds]
    for last in (candidates if following is None else tied) or tied:
        answer = {}
        for version in tied:
            end = _earlier(version.end, following if version is last else version.cursor) if with_ends else None
            is_current = following is None and version is last and version in candidates
            answer[version.content] = (is_current, end)
        yield answer


def _earlier(first: Any, second: Any) -> Any:
    return min((end for end in (first, second) if end is not None), default=None)


def made_of(observed: Mapping[Key, Mapping[Any, object]]) -> set[tuple[Key, Any, object, Any, bool]]:
    """Return the versions of each key from its observed states: key, start, state, end and whether it is current. A
    state that equals the one before is no version."""
    return {version for key, states in observed.items() for version in _versions_of_key(key, states)}


def _versions_of_key(key: Key, states: Mapping[Any, object]) -> Iterator[tuple[Key, Any, object, Any, bool]]:
    changes = [(since, state) for since, state in sorted(states.items(), key=lambda change: change[0])]
    changed = [next(alike) for _, alike in groupby(changes, key=lambda change: change[1])]
    for (since, state), (until, _) in pairwise([*changed, (None, ABSENT)]):
        if state is not ABSENT:
            yield key, since, state, until, until is None
