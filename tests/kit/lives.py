"""Random changes of sources, in memory: one source has versions, the other has only current rows.

Both follow the rules that reading by a cursor requires: late or changed rows have a cursor in the look-back, a version
without a version key keeps its cursor, and no version is deleted.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

# Cursors are even, and ends that the source sets are odd, so that no version starts there.
LOOK_BACK = 24
FUTURE = 1_000_000
NAMES = (None, "", "Ann", "ann", "Ann ", "Zoë", "Ørsted")
KEYS = [(1, "EU"), (1, "eu"), (2, "EU"), (3, ""), (3, " ")]
MOST_CHANGES_OF_A_DAY = 6


@dataclass(frozen=True)
class Row:
    """A version in the source. Its cursor and end are numbers here, and of any type in the database."""

    version: int
    key: tuple[int, str]
    cursor: int
    name: str | None
    latest: bool
    grade: int = 0
    end: int | None = None
    gone: bool = False

    @property
    def content(self) -> tuple[object, ...]:
        return self.key, self.cursor, self.name, self.gone


@dataclass
class Versions:
    """A source with versions. If `numbered`, each has a version key and its cursor may change."""

    dice: random.Random
    numbered: bool = False
    with_ends: bool = False
    with_tombstones: bool = False
    with_future: bool = False
    closes: bool = False
    """At the end of a day at most one row of each key is current, as `flags: source` requires."""
    rows: list[Row] = field(default_factory=list)
    diary: list[str] = field(default_factory=list)
    _frontier: int | None = None
    """The greatest cursor at the end of the previous day, or None on the first day."""
    _floor: int = 0
    _versions: int = 0

    def live_a_day(self) -> None:
        """Changes of all sorts, and at last a new version: a new cursor is what makes a reader look."""
        for _ in range(self.dice.randint(1, MOST_CHANGES_OF_A_DAY)):
            self.dice.choice(self._changes())()
        self._come()
        if self.closes:
            self._close_all_but_the_newest()
        if self._frontier is None:
            self._floor = min(row.cursor for row in self.rows)
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
        """Add another version with the same key and cursor."""
        for row in self._readable_row():
            self._add(row.cursor, row.key)

    def _repeat(self) -> None:
        for row in self._readable_row():
            self.rows.append(replace(row, latest=self.dice.random() < 0.5))
            self._note("repeated", self.rows[-1])

    def _correct(self) -> None:
        """Change a row in place, without a new cursor."""
        for row in self._readable_row():
            self._become(row, name=self._name())

    def _move(self) -> None:
        """Change a row of any age in place, with a new cursor."""
        row = self.dice.choice(self.rows) if self.rows else None
        if row is not None and row.cursor < FUTURE:
            self._become(row, name=self._name(), cursor=self._newest() + self.dice.choice([2, 4]), end=None)

    def _regrade(self) -> None:
        """Change an ignored column of a row."""
        for row in self._readable_row():
            self._become(row, grade=self.dice.randint(1, 9))

    def _turn(self) -> None:
        """Change only the flag of a row: close or reopen it."""
        for row in self._readable_row():
            self._become(row, latest=not row.latest)

    def _end(self) -> None:
        for row in self._readable_row():
            self._become(row, end=self.dice.choice([None, self._end_after(row.cursor)]))

    def _close_all_but_the_newest(self) -> None:
        newest: dict[tuple[int, str], Row] = {}
        for row in self.rows:
            current = newest.get(row.key)
            if row.latest and (current is None or (row.cursor, row.version) > (current.cursor, current.version)):
                newest[row.key] = row
        self.rows = [
            replace(row, latest=row.latest and self._is_same_version(row, newest[row.key])) for row in self.rows
        ]

    def _is_same_version(self, row: Row, other: Row) -> bool:
        """Return whether both rows are one version. Rows without a version key may be repeated."""
        return row.version == other.version if self.numbered else row.content == other.content

    # Changing rows

    def _add(self, cursor: int, key: tuple[int, str] | None = None) -> None:
        key = key or self.dice.choice(KEYS)
        self._versions += 1
        row = Row(
            version=self._versions,
            key=key,
            cursor=cursor,
            name=self._name(),
            latest=self.dice.random() < 0.8,
            grade=self.dice.randint(0, 2),
            end=self._end_after(cursor) if self.with_ends and self.dice.random() < 0.3 else None,
            gone=self.with_tombstones and self.dice.random() < 0.2,
        )
        if not self.numbered and any(other.content == row.content for other in self.rows):
            return
        own = [other for other in self.rows if other.key == key]
        # Most sources close superseded versions of any age, some do not.
        if all(other.cursor <= cursor for other in own) and self.dice.random() < 0.8:
            older = [other for other in own if other.cursor < cursor]
            self.rows = [self._closed(other, cursor) if other in older else other for other in self.rows]
        self.rows.append(row)
        self._note("came", row)

    def _closed(self, row: Row, at: int) -> Row:
        """Return the closed row. Numbered versions get no end, because their cursor may change later."""
        ends = self.with_ends and not self.numbered and row.end is None
        return replace(row, latest=False, end=at if ends else row.end)

    def _end_after(self, cursor: int) -> int:
        return cursor + self.dice.choice([1, 3, 7, 15])

    def _become(self, row: Row, **cells: object) -> None:
        """Change all rows equal to this one, unless the result equals another row: no version may disappear."""
        new = replace(row, **cells)  # type: ignore[arg-type]
        alike = [other for other in self.rows if other.content == row.content and (other is row or not self.numbered)]
        if (
            not self.numbered
            and new.content != row.content
            and any(other.content == new.content for other in self.rows)
        ):
            return
        self.rows = [replace(other, **cells) if other in alike else other for other in self.rows]  # type: ignore[arg-type]
        self._note(f"became {cells}", row)

    def _note(self, what: str, row: Row) -> None:
        self.diary.append(f"{what}: {row}")

    def _readable_row(self) -> list[Row]:
        """Return one random row in the look-back, or an empty list."""
        readable = [row for row in self.rows if row.cursor >= self._oldest_seen()]
        return self.dice.sample(readable, min(1, len(readable)))

    def _oldest_seen(self) -> int:
        return 0 if self._frontier is None else max(self._frontier - LOOK_BACK, self._floor)

    def _mine(self) -> list[int]:
        return [row.cursor for row in self.rows if row.cursor < FUTURE]

    def _newest(self) -> int:
        return max(self._mine(), default=10)

    def _name(self) -> str | None:
        return self.dice.choice(NAMES)


@dataclass
class States:
    """A source with only current rows: for each key its name and its cursor."""

    dice: random.Random
    by_mark: bool = False
    rows: dict[tuple[int, str], tuple[str | None, int]] = field(default_factory=dict)
    diary: list[str] = field(default_factory=list)
    _newest: int = 10
    _oldest_seen: int = 0

    def live_a_day(self) -> None:
        """Changes of all sorts, and at last a new one: a new cursor is what makes a reader look."""
        for _ in range(self.dice.randint(1, MOST_CHANGES_OF_A_DAY)):
            change = self.dice.choice([self._put, self._put, self._put, self._touch, self._restate, self._leave])
            change(self.dice.choice(KEYS))
        if self.by_mark:
            self._say(self.dice.choice(KEYS), self.dice.choice(NAMES), self._newest + 2)
        self._oldest_seen = self._newest - LOOK_BACK

    def _put(self, key: tuple[int, str]) -> None:
        self._say(key, self.dice.choice(NAMES), self._newest + self.dice.choice([0, 2, 2, 8]))

    def _touch(self, key: tuple[int, str]) -> None:
        """Set a new cursor without other changes."""
        if key in self.rows:
            self._say(key, self.rows[key][0], self._newest + 2)

    def _restate(self, key: tuple[int, str]) -> None:
        """Change the state without a new cursor."""
        if key in self.rows and self.rows[key][1] >= self._oldest_seen:
            self._say(key, self.dice.choice(NAMES), self.rows[key][1])

    def _leave(self, key: tuple[int, str]) -> None:
        if self.rows.pop(key, None) is not None:
            self.diary.append(f"{key}: left")

    def _say(self, key: tuple[int, str], name: str | None, cursor: int) -> None:
        self.rows[key], self._newest = (name, cursor), max(cursor, self._newest)
        self.diary.append(f"{key}: {name!r} since {cursor}")
