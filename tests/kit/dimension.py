"""What a slowly changing dimension should hold, written from the definition: dictionaries, no hashes, and none of the
code under test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

Key = tuple[Hashable, ...]
ABSENT = object()
"""What is observed of an entity that is not in the source."""


@dataclass(frozen=True)
class Version:
    """How an entity was from a mark on: what a source says of it, or what a target holds."""

    key: Key
    mark: Any
    content: tuple[object, ...]
    outside: tuple[object, ...] = ()
    holds: bool = False
    end: Any = None
    is_tombstone: bool = False


def disagreements(
    source: Iterable[Version], target: Iterable[Version], *, recompute: bool = False, with_ends: bool = False
) -> list[str]:
    """Where a target does not hold what this source asks for; empty when it does.

    * Every version is there once, with what is outside of its content as the source has it.
    * Of a key the newest version holds, if it says so or if flags are recomputed, and if it is no tombstone. Of
      several with that mark one holds, and of those that say so.
    * A version ends where the next one begins, unless it says that it ended before. Of several with one mark all but
      one end there; the one that holds is the last. Where flags are recomputed, what ended does not hold.
    """
    told, held = _by_key(_once(source)), _by_key(target)
    return [
        f"{key}: {what}"
        for key in sorted({*told, *held}, key=repr)
        for what in _of_one_key(told.get(key, []), held.get(key, []), recompute, with_ends)
    ]


def _once(versions: Iterable[Version]) -> Iterator[Version]:
    """Rows that say the same are one version, which holds if one of them says so."""
    found: dict[tuple[object, ...], Version] = {}
    for one in versions:
        name = (one.key, one.mark, one.content)
        if name not in found or one.holds:
            found[name] = one
    return iter(found.values())


def _by_key(versions: Iterable[Version]) -> dict[Key, list[Version]]:
    found: dict[Key, list[Version]] = {}
    for one in versions:
        found.setdefault(one.key, []).append(one)
    return found


def _of_one_key(told: list[Version], held: list[Version], recompute: bool, with_ends: bool) -> Iterator[str]:
    asked = Counter((one.mark, one.content, one.outside) for one in told)
    there = Counter((one.mark, one.content, one.outside) for one in held)
    if asked != there:
        yield f"lacks {list((asked - there).elements())}, has besides {list((there - asked).elements())}"
        return
    marks = sorted({one.mark for one in told})
    for mark, following in pairwise([*marks, None]):
        tied = [one for one in told if one.mark == mark]
        found = {one.content: (one.holds, one.end if with_ends else None) for one in held if one.mark == mark}
        allowed = list(_allowed(tied, following, recompute, with_ends))
        if found not in allowed:
            yield f"at {mark} (holds, ends) {found}, and not {' or '.join(map(str, allowed))}"


def _allowed(
    tied: list[Version], following: Any, recompute: bool, with_ends: bool
) -> Iterator[dict[object, tuple[bool, Any]]]:
    """Of each content, whether it holds and where it ends: one answer, or several where a tie leaves the choice."""
    is_open = [one for one in tied if not one.is_tombstone and not (with_ends and one.end is not None)]
    saying_so = is_open if recompute else [one for one in tied if not one.is_tombstone and one.holds]
    for last in (saying_so if following is None else tied) or tied:
        answer = {}
        for one in tied:
            end = _earlier(one.end, following if one is last else one.mark) if with_ends else None
            holds = following is None and one is last and one in saying_so
            answer[one.content] = (holds, end)
        yield answer


def _earlier(one: Any, other: Any) -> Any:
    return min((end for end in (one, other) if end is not None), default=None)


def made_of(observed: Mapping[Key, Mapping[Any, object]]) -> set[tuple[Key, Any, object, Any, bool]]:
    """Of each key, state by state as they were observed, since when: its versions, each with its key, its start, its
    state, its end and whether it holds. What says nothing new is no version."""
    return {version for key, states in observed.items() for version in _made_of_one(key, states)}


def _made_of_one(key: Key, states: Mapping[Any, object]) -> Iterator[tuple[Key, Any, object, Any, bool]]:
    changes = [(since, state) for since, state in sorted(states.items(), key=lambda one: one[0])]
    told = [next(alike) for _, alike in groupby(changes, key=lambda one: one[1])]
    for (since, state), (until, _) in pairwise([*told, (None, ABSENT)]):
        if state is not ABSENT:
            yield key, since, state, until, until is None
