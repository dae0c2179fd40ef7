"""Random lives of sources, in memory: one that keeps versions, and one that says only how things are now.

Both keep to what a reader by a mark may expect: what comes late or is changed in place has a mark inside of the
look-back, a version that has no key of its own keeps its mark, and no version leaves.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

# Marks are even, and ends that a source says by itself are odd: no version begins there.
LOOK_BACK = 24
FUTURE = 1_000_000
NAMES = (None, "", "Ann", "ann", "Ann ", "Zoë", "Ørsted")
KEYS = [(1, "EU"), (1, "eu"), (2, "EU"), (3, ""), (3, " ")]
MOST_CHANGES_OF_A_DAY = 6


@dataclass(frozen=True)
class Row:
    """A version in a source. Its mark and its end are numbers here, whatever they are there."""

    version: int
    key: tuple[int, str]
    mark: int
    name: str | None
    latest: bool
    grade: int = 0
    end: int | None = None
    gone: bool = False

    @property
    def content(self) -> tuple[object, ...]:
        return self.key, self.mark, self.name, self.gone


@dataclass
class Versions:
    """A source that keeps versions. `numbered` ones have a key of their own and may move their mark."""

    dice: random.Random
    numbered: bool = False
    with_ends: bool = False
    with_tombstones: bool = False
    with_future: bool = False
    closes: bool = False
    """At the end of a day at most one row of each key is current, as a source whose flags count has it."""
    rows: list[Row] = field(default_factory=list)
    diary: list[str] = field(default_factory=list)
    _frontier: int | None = None
    """The greatest mark at the end of the day before; None before the first one ended."""
    _floor: int = 0
    _versions: int = 0

    def live_a_day(self) -> None:
        """Changes of all sorts, and at last a new version: a new mark is what makes a reader look."""
        for _ in range(self.dice.randint(1, MOST_CHANGES_OF_A_DAY)):
            self.dice.choice(self._changes())()
        self._come()
        if self.closes:
            self._close_all_but_the_newest()
        if self._frontier is None:
            self._floor = min(row.mark for row in self.rows)
        self._frontier = self._newest()

    def _changes(self) -> list[Callable[[], None]]:
        changes = [self._come, self._come, self._come_late, self._correct, self._regrade, self._turn]
        changes += [self._end] if self.with_ends else []
        changes += [self._move, self._move] if self.numbered else [self._tie, self._repeat]
        changes += [self._come_from_the_future] if self.with_future else []
        return changes

    # What happens

    def _come(self) -> None:
        self._add(self._newest() + self.dice.choice([0, 2, 2, 4, 10]))

    def _come_late(self) -> None:
        self._add(self.dice.randrange(self._oldest_seen(), self._newest() + 1, 2))

    def _come_from_the_future(self) -> None:
        self._add(FUTURE + self.dice.choice([0, 2]))

    def _tie(self) -> None:
        """Another version of the same entity and mark."""
        for row in self._some():
            self._add(row.mark, row.key)

    def _repeat(self) -> None:
        for row in self._some():
            self.rows.append(replace(row, latest=self.dice.random() < 0.5))
            self._note("repeated", self.rows[-1])

    def _correct(self) -> None:
        """In place, without a new mark."""
        for row in self._some():
            self._become(row, name=self._name())

    def _move(self) -> None:
        """In place, with a new mark, whatever its age."""
        row = self.dice.choice(self.rows) if self.rows else None
        if row is not None and row.mark < FUTURE:
            self._become(row, name=self._name(), mark=self._newest() + self.dice.choice([2, 4]), end=None)

    def _regrade(self) -> None:
        """What is outside of its content."""
        for row in self._some():
            self._become(row, grade=self.dice.randint(1, 9))

    def _turn(self) -> None:
        """Its flag alone: closed, or open again."""
        for row in self._some():
            self._become(row, latest=not row.latest)

    def _end(self) -> None:
        for row in self._some():
            self._become(row, end=self.dice.choice([None, self._end_after(row.mark)]))

    def _close_all_but_the_newest(self) -> None:
        newest: dict[tuple[int, str], Row] = {}
        for row in self.rows:
            current = newest.get(row.key)
            if row.latest and (current is None or (row.mark, row.version) > (current.mark, current.version)):
                newest[row.key] = row
        self.rows = [replace(row, latest=row.latest and self._is_one(row, newest[row.key])) for row in self.rows]

    def _is_one(self, row: Row, other: Row) -> bool:
        """Whether both are the same version: rows without a number may be repeated."""
        return row.version == other.version if self.numbered else row.content == other.content

    # How it is written down

    def _add(self, mark: int, key: tuple[int, str] | None = None) -> None:
        key = key or self.dice.choice(KEYS)
        self._versions += 1
        row = Row(
            version=self._versions,
            key=key,
            mark=mark,
            name=self._name(),
            latest=self.dice.random() < 0.8,
            grade=self.dice.randint(0, 2),
            end=self._end_after(mark) if self.with_ends and self.dice.random() < 0.3 else None,
            gone=self.with_tombstones and self.dice.random() < 0.2,
        )
        if not self.numbered and any(one.content == row.content for one in self.rows):
            return
        own = [one for one in self.rows if one.key == key]
        # Most sources close what is superseded, whatever its age; some forget it.
        if all(one.mark <= mark for one in own) and self.dice.random() < 0.8:
            older = [one for one in own if one.mark < mark]
            self.rows = [self._closed(one, mark) if one in older else one for one in self.rows]
        self.rows.append(row)
        self._note("came", row)

    def _closed(self, row: Row, at: int) -> Row:
        """A version that may move would leave such an end behind."""
        ends = self.with_ends and not self.numbered and row.end is None
        return replace(row, latest=False, end=at if ends else row.end)

    def _end_after(self, mark: int) -> int:
        return mark + self.dice.choice([1, 3, 7, 15])

    def _become(self, row: Row, **cells: object) -> None:
        """Rows that say the same change together, and none becomes like another: no version leaves."""
        new = replace(row, **cells)  # type: ignore[arg-type]
        alike = [one for one in self.rows if one.content == row.content and (one is row or not self.numbered)]
        if not self.numbered and new.content != row.content and any(one.content == new.content for one in self.rows):
            return
        self.rows = [replace(one, **cells) if one in alike else one for one in self.rows]  # type: ignore[arg-type]
        self._note(f"became {cells}", row)

    def _note(self, what: str, row: Row) -> None:
        self.diary.append(f"{what}: {row}")

    def _some(self) -> list[Row]:
        """A row that is still read; none when there is none."""
        seen = [row for row in self.rows if row.mark >= self._oldest_seen()]
        return self.dice.sample(seen, min(1, len(seen)))

    def _oldest_seen(self) -> int:
        return 0 if self._frontier is None else max(self._frontier - LOOK_BACK, self._floor)

    def _mine(self) -> list[int]:
        return [row.mark for row in self.rows if row.mark < FUTURE]

    def _newest(self) -> int:
        return max(self._mine(), default=10)

    def _name(self) -> str | None:
        return self.dice.choice(NAMES)


@dataclass
class States:
    """A source that says only how things are now: of each key its name, and since when."""

    dice: random.Random
    by_mark: bool = False
    rows: dict[tuple[int, str], tuple[str | None, int]] = field(default_factory=dict)
    diary: list[str] = field(default_factory=list)
    _newest: int = 10
    _oldest_seen: int = 0

    def live_a_day(self) -> None:
        """Changes of all sorts, and at last a new one: a new mark is what makes a reader look."""
        for _ in range(self.dice.randint(1, MOST_CHANGES_OF_A_DAY)):
            change = self.dice.choice([self._put, self._put, self._put, self._touch, self._restate, self._leave])
            change(self.dice.choice(KEYS))
        if self.by_mark:
            self._say(self.dice.choice(KEYS), self.dice.choice(NAMES), self._newest + 2)
        self._oldest_seen = self._newest - LOOK_BACK

    def _put(self, key: tuple[int, str]) -> None:
        self._say(key, self.dice.choice(NAMES), self._newest + self.dice.choice([0, 2, 2, 8]))

    def _touch(self, key: tuple[int, str]) -> None:
        """A new mark, and nothing new."""
        if key in self.rows:
            self._say(key, self.rows[key][0], self._newest + 2)

    def _restate(self, key: tuple[int, str]) -> None:
        """Another state, and the same mark."""
        if key in self.rows and self.rows[key][1] >= self._oldest_seen:
            self._say(key, self.dice.choice(NAMES), self.rows[key][1])

    def _leave(self, key: tuple[int, str]) -> None:
        if self.rows.pop(key, None) is not None:
            self.diary.append(f"{key}: left")

    def _say(self, key: tuple[int, str], name: str | None, mark: int) -> None:
        self.rows[key], self._newest = (name, mark), max(mark, self._newest)
        self.diary.append(f"{key}: {name!r} since {mark}")
