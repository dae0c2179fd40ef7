"""Random frames, changed at random, against a comparison that knows nothing of hashes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kit.project import database_on
from tidegate.api import Snapshots

if TYPE_CHECKING:
    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

TEXTS = ["", " ", "a", "A", "a ", "é", "12", "3", "1", "23", "\\N", "NULL", "山田", "x" * 300, 'quo"te', "li\nne", "🦔"]
Maker = Any


def makers(dice: random.Random) -> dict[str, tuple[pa.DataType, Maker]]:
    """Return a type and a function that makes a value of it, for many types."""
    return {
        "int8": (pa.int8(), lambda: dice.randint(-128, 127)),
        "int64": (pa.int64(), lambda: dice.choice([0, 1, -1, 2**63 - 1, -(2**63), dice.randint(-99, 99)])),
        "uint64": (pa.uint64(), lambda: dice.choice([0, 2**64 - 1, 2**63])),
        "float64": (pa.float64(), lambda: dice.choice([0.0, -0.0, 1.5, float("inf"), 1e-300, dice.random()])),
        "float32": (pa.float32(), lambda: dice.choice([0.5, -2.25, 3.0])),
        "bool": (pa.bool_(), lambda: dice.random() < 0.5),
        "text": (pa.string(), lambda: dice.choice(TEXTS)),
        "large": (pa.large_string(), lambda: dice.choice(TEXTS)),
        "words": (pa.dictionary(pa.int32(), pa.string()), lambda: dice.choice(TEXTS)),
        "bytes": (pa.binary(), lambda: dice.choice([b"", b"\x00", b"\x00\x00", b"a"])),
        "decimal": (pa.decimal128(38, 10), lambda: Decimal(dice.randint(-(10**20), 10**20)) / 1000),
        "date": (pa.date32(), lambda: date(1970, 1, 1) + timedelta(days=dice.randint(-99_999, 99_999))),
        "moment": (
            pa.timestamp("us"),
            lambda: datetime(2000, 1, 1) + timedelta(microseconds=dice.randint(-(10**15), 10**15)),
        ),
        "nanos": (pa.timestamp("ns"), lambda: dice.randint(0, 10**18)),
        "zoned": (pa.timestamp("ms", "Europe/Oslo"), lambda: dice.randint(0, 10**12)),
        "time": (pa.time64("us"), lambda: dice.randint(0, 86_399_999_999)),
        "list": (pa.list_(pa.string()), lambda: [dice.choice(TEXTS) for _ in range(dice.randint(0, 3))]),
        "struct": (pa.struct([("x", pa.int32())]), lambda: {"x": dice.choice([None, 1, 2])}),
    }


class Rows:
    """Rows by their key, and the types of their columns."""

    def __init__(self, dice: random.Random) -> None:
        self._dice, known = dice, makers(dice)
        chosen = dice.sample(sorted(known), dice.randint(1, len(known)))
        self.columns = {f"{name} {number}": known[name] for number, name in enumerate(chosen)}
        self.keys = ["key"] if dice.random() < 0.5 else ["key", "second key"]
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.add(dice.choice([0, 1, 30, 200]))

    def add(self, count: int) -> None:
        for _ in range(count):
            key = (self._dice.choice(TEXTS) + str(self._dice.randint(0, 999)), self._dice.randint(-5, 5))
            self.rows[key[: len(self.keys)]] = {name: self._value(name) for name in self.columns}

    def change(self) -> None:
        """Change cells, remove rows, add rows."""
        for key in list(self.rows):
            if self._dice.random() < 0.1:
                del self.rows[key]
            elif self._dice.random() < 0.2:
                name = self._dice.choice(sorted(self.columns))
                self.rows[key] = {**self.rows[key], name: self._value(name)}
        self.add(self._dice.randint(0, 10))

    def table(self) -> pa.Table:
        items = list(self.rows.items())
        self._dice.shuffle(items)
        kinds = {"key": pa.string(), "second key": pa.int64()}
        columns = {name: pa.array([key[at] for key, _ in items], kinds[name]) for at, name in enumerate(self.keys)}
        columns |= {name: pa.array([row[name] for _, row in items], kind) for name, (kind, _) in self.columns.items()}
        names = self._dice.sample(sorted(columns), len(columns))
        return pa.table({name: columns[name] for name in names})

    def _value(self, name: str) -> Any:
        return None if self._dice.random() < 0.15 else self.columns[name][1]()


def exact(row: dict[str, Any]) -> str:
    """Return a text that is the same exactly for equal rows: 0.0 and -0.0 are two values."""
    return repr(sorted(row.items()))


@pytest.fixture(params=["postgresql", pytest.param("mysql", marks=pytest.mark.thorough)])
def places(request: pytest.FixtureRequest, postgres: EmbeddedPostgres, mariadb: MariaDb) -> Iterator[tuple[str, str]]:
    servers: dict[str, Any] = {"mysql": mariadb, "postgresql": postgres}
    with database_on(servers[request.param]) as work, database_on(postgres) as archive:
        yield work, archive


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(3, 25))]
)
def test_random_changes_are_found_exactly(places: tuple[str, str], seed: int):
    """Rows, cells and archives agree with what was done to the rows."""
    rows = Rows(random.Random(seed))
    snapshots = Snapshots.open(database=places[0], archive=places[1], table="random", business_key=rows.keys)
    before: dict[tuple[Any, ...], dict[str, Any]] = {}
    archives: list[tuple[int, pa.Table]] = []
    for _ in range(3):
        table, now = rows.table(), dict(rows.rows)
        found = snapshots.detect(table, "x")
        changed = {key for key in before.keys() & now.keys() if exact(before[key]) != exact(now[key])}
        assert found.rows == {
            "new": len(now.keys() - before.keys()),
            "changed": len(changed),
            "unchanged": len(before.keys() & now.keys()) - len(changed),
            "deleted": len(before.keys() - now.keys()),
        }
        keys = {tuple(row.values()) for row in found.changed.select(rows.keys).to_pylist()}
        assert keys == changed
        if archives:
            cells = snapshots.changed_cells(table, "x")
            assert sum(cells.columns.values()) == sum(
                exact({"": before[key][name]}) != exact({"": now[key][name]})
                for key in changed
                for name in rows.columns
            )
        saved = snapshots.save(table, "x")
        assert saved.archive_id is not None
        archives.append((saved.archive_id, table))
        before = now
        rows.change()
    for archive_id, table in archives:
        assert snapshots.load(snapshots.find_archive(archive_id), "arrow").equals(table)
    assert not any(snapshots.problems().values())
