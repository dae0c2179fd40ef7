# ruff: noqa: S608 - the statements are made of numbers and of constants of this file
"""A table that changes at random, with a log of every committed change that the workload itself keeps."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Row = tuple[object, ...]
Run = Callable[[list[str]], None]
"""Runs statements in one transaction, or raises and runs none."""
WORDS = ("NULL", "''", "'tea'", "'say \"hi\", it''s'", "'ä\n\\\\.'", "'NULL'")


@dataclass
class Changing:
    """Table `items (id, name, amount)`: what it holds, and every image that a key ever had, in order.

    `versions` has None for the end of a row. Only what was committed is in it."""

    run: Run
    seed: int
    keys: int = 30
    truncate: str = "TRUNCATE items"
    rows: dict[int, Row] = field(default_factory=dict)
    versions: dict[int, list[Row | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def transactions(self, count: int, *, truncates: bool = True) -> None:
        """Run so many transactions, some of which are rolled back."""
        for _ in range(count):
            self._transaction(truncates=truncates)

    def _transaction(self, *, truncates: bool) -> None:
        statements: list[str] = []
        rows, events = dict(self.rows), list[tuple[int, Row | None]]()
        for _ in range(self._random.randint(1, 6)):
            statement, changed = self._change(rows, truncates=truncates)
            statements.append(statement)
            for key, row in changed:
                events.append((key, row))
                if row is None:
                    del rows[key]
                else:
                    rows[key] = row
        if self._random.random() < 0.2:
            self.run([*statements, "ROLLBACK"])
            return
        self.run(statements)
        self.rows = rows
        for key, row in events:
            self.versions.setdefault(key, []).append(row)

    def _change(self, rows: dict[int, Row], *, truncates: bool) -> tuple[str, list[tuple[int, Row | None]]]:
        chance, key = self._random.random(), self._random.randrange(self.keys)
        if truncates and chance < 0.01:
            return self.truncate, [(each, None) for each in rows]
        if key not in rows:
            name, amount = self._values()
            return f"INSERT INTO items VALUES ({key}, {name}, {amount})", [(key, (key, _text(name), amount))]
        if chance < 0.25:
            return f"DELETE FROM items WHERE id = {key}", [(key, None)]
        free = [each for each in range(self.keys) if each not in rows]
        if chance < 0.4 and free:
            other = self._random.choice(free)
            moved = (other, *rows[key][1:])
            return f"UPDATE items SET id = {other} WHERE id = {key}", [(key, None), (other, moved)]
        name, amount = self._values()
        text = f"UPDATE items SET name = {name}, amount = {amount} WHERE id = {key}"
        return text, [(key, (key, _text(name), amount))]

    def _values(self) -> tuple[str, int]:
        return self._random.choice(WORDS), self._random.randrange(10**6)

    def expected(self) -> list[Row]:
        return sorted(self.rows.values(), key=str)


def _text(literal: str) -> str | None:
    return None if literal == "NULL" else literal[1:-1].replace("''", "'")


def histories(rows: Iterable[tuple[object, ...]]) -> dict[int, list[Row | None]]:
    """Return the images of each key in order, of versions (id, name, amount, start, end); None ends a row, where no
    other version follows at once."""
    found: dict[int, list[Row | None]] = {}
    ended: dict[int, object] = {}
    for key, name, amount, start, end in sorted(rows, key=lambda row: (row[0], row[3])):
        assert isinstance(key, int)
        images = found.setdefault(key, [])
        if images and ended[key] != start:
            images.append(None)
        images.append((key, name, amount))
        ended[key] = end
    for key, images in found.items():
        if ended[key] is not None:
            images.append(None)
    return found
