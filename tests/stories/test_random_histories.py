"""Random histories of SCD2 tables on real servers, with interrupted runs, losses and late files.

Sources change day by day. Runs are interrupted or killed. Files, ledger entries and target rows are lost, and files are
loaded again or late. In the end every cell of the target equals the definition in `kit/dimension.py`.

TIDEGATE_HISTORIES sets the number of histories, TIDEGATE_SEED the first seed. A failing history shows its seed: set it
as TIDEGATE_SEED, with TIDEGATE_HISTORIES=1, to repeat the history.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit import sides
from kit.crash import Interrupter
from kit.dimension import ABSENT, Version, disagreements, made_of
from kit.lives import FUTURE, KEYS, LOOK_BACK, Row, States, Versions
from kit.one_process import OneProcess
from kit.pairs import ALL_ARE_ASKED_FOR, BOTH_WAYS, EVERY_PAIR
from kit.processes import wait_until
from kit.project import child, database_on
from kit.sides import kind_of, sessions_of
from tidegate import Tidegate
from tidegate.errors import RunFailed

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.slow]

SEED = int(os.environ.get("TIDEGATE_SEED", "20240118"))
HISTORIES = int(os.environ.get("TIDEGATE_HISTORIES", "25" if ALL_ARE_ASKED_FOR else "1"))
SEEDS = range(SEED, SEED + HISTORIES)
PAIRS = EVERY_PAIR if ALL_ARE_ASKED_FOR else BOTH_WAYS

PLACES = [
    "ledger ready",
    "planned",
    "schema changed",
    "published",
    "extract done",
    "task about to commit",
    "task committed",
    "loaded",
    "load done",
]
KILLED = 0.06
"""The share of interrupted runs that are killed, which needs a separate process."""
MOMENTS = {"postgresql": "timestamp(6)", "mysql": "datetime(6)"}
REGIONS = {"postgresql": "varchar(5)", "mysql": "varchar(5) COLLATE utf8mb4_nopad_bin"}
TRUTHS = {"postgresql": "boolean", "mysql": "tinyint(1)"}
CLOCKS = {
    "postgresql": "SELECT clock_timestamp() AT TIME ZONE 'UTC'",
    "mysql": "SELECT UTC_TIMESTAMP(6)",
}
NOW = datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def moment_of(cursor: int | None) -> datetime | None:
    """Return the timestamp of a cursor: minutes from ten days ago on. Future cursors start tomorrow."""
    if cursor is None:
        return None
    begin, minutes = (
        (NOW + timedelta(days=1), cursor - FUTURE) if cursor >= FUTURE else (NOW - timedelta(days=10), cursor)
    )
    return begin + timedelta(minutes=minutes, microseconds=minutes)


@dataclass
class World:
    """A source, a lake and a target, with random interruptions and losses."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    folder: Path
    dice: random.Random
    settings: dict[str, Any]
    diary: list[str] = field(default_factory=list)
    hidden: list[tuple[Path, Path]] = field(default_factory=list)
    attempts: int = 0
    loads: int = 0
    is_created: bool = False
    is_complete: bool = False
    """Whether the last run was completed."""

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def configuration(self) -> dict[str, Any]:
        table = {"kind": "scd2", **self.settings}
        return {"source": self.source, "target": self.target, "lake": str(self.lake), "tables": {"people": table}}

    def tidegate(self) -> Tidegate:
        return Tidegate(**self.configuration(), spark=OneProcess())  # type: ignore[arg-type]

    def run(self, *, reload: bool = False) -> None:
        self.diary.append("run, reload" if reload else "run")
        self.tidegate().run(reload=reload)
        self.is_complete, self.loads = True, self.loads + 1

    def repair(self) -> None:
        self.diary.append("repair")
        self.tidegate().repair()

    def write(self, columns: dict[str, str], rows: list[tuple[object, ...]], more: str = "") -> None:
        """Replace all rows of the source."""
        parts = [*(f"{name} {type_}" for name, type_ in columns.items()), *([more] if more else [])]
        holes = ", ".join(["%s"] * len(columns))
        witness = self.in_source
        if not self.is_created:
            witness.do(f"CREATE TABLE people ({', '.join(parts)})")
            self.is_created = True
        witness.do("DELETE FROM people")
        if rows:
            witness.do_many(f"INSERT INTO people ({', '.join(columns)}) VALUES ({holes})", rows)  # noqa: S608

    def rows_in_target(self, columns: list[str]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.in_target.ask(f"SELECT {', '.join(columns)} FROM people")  # noqa: S608
        return found

    @cached_property
    def in_source(self) -> Any:
        return sides.opened(self.source)

    @cached_property
    def in_target(self) -> Any:
        return sides.opened(self.target)

    def close(self) -> None:
        self.in_source.close()
        self.in_target.close()

    def files(self) -> list[Path]:
        return sorted(self.lake.glob("organized/scd_people/*/people_scd_*.parquet"), key=lambda path: path.stem)

    def clock(self) -> datetime:
        now: datetime = self.in_source.ask(CLOCKS[kind_of(self.source)])[0][0]
        return now

    # Interruptions

    def run_and_be_stopped(self) -> None:
        self.attempts, self.is_complete = self.attempts + 1, False
        place, nth = self.dice.choice(PLACES), self.dice.choice([1, 1, 1, 2])
        tally = self.folder / f"tally_{self.attempts}"
        if self.dice.random() < KILLED:
            self._run_and_be_killed(place, nth, tally)
        else:
            self.diary.append(f"run, interrupted at {place} {nth}")
            tidegate = self.tidegate()
            tidegate.boundary = Interrupter(place, nth, tally)
            with suppress(KeyboardInterrupt, RunFailed):
                tidegate.run()

    def _run_and_be_killed(self, place: str, nth: int, tally: Path) -> None:
        self.diary.append(f"run, killed at {place} {nth}")
        configuration = self.folder / "tidegate.yml"
        configuration.write_text(yaml.safe_dump(self.configuration()))
        run = child("-m", "kit.crash", configuration, place, nth, tally, "all in one")
        run.communicate(timeout=100)
        self.in_target.ask("SELECT 1")
        own = 1 if kind_of(self.target) == "mysql" else 0  # sessions of MySQL have no names
        wait_until(lambda: len(sessions_of(self.target)) == own, "the dead run let go")

    # Losses

    def lose_a_file(self) -> None:
        for file in self._some_file():
            file.unlink()

    def lose_all_files(self) -> None:
        for file in self.files():
            file.unlink()

    def cut_a_file(self) -> None:
        for file in self._some_file():
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    def hide_files(self) -> None:
        """Move random files away. They come back after other files were loaded instead."""
        for file in self.files():
            if self.dice.random() < 0.5:
                away = self.folder / f"{len(self.hidden)}.hidden"
                self.hidden.append((file, away))
                shutil.move(file, away)

    def bring_files_back(self) -> None:
        for file, away in self.hidden:
            if away.exists():
                self.diary.append(f"{file.name} comes back")
                shutil.move(away, file)

    def lose_a_ledger_row(self) -> None:
        name = sides.ledger_name(self.target)
        values = sorted(value for (value,) in self.in_target.ask(f"SELECT DISTINCT value_text FROM {name}"))  # noqa: S608
        if values:
            self.in_target.do(f"DELETE FROM {name} WHERE value_text = %s", self.dice.choice(values))  # noqa: S608

    def lose_the_ledger(self) -> None:
        self.in_target.do(f"DELETE FROM {sides.ledger_name(self.target)}")  # noqa: S608

    def lose_rows(self) -> None:
        self.in_target.do("DELETE FROM people WHERE id = %s", self.dice.choice([1, 2, 3]))

    def lose_all_rows(self) -> None:
        self.in_target.do("DELETE FROM people")

    def lose_the_table(self) -> None:
        self.in_target.do("DROP TABLE people")

    def lose_rows_and_ledger(self) -> None:
        self.lose_all_rows()
        self.lose_the_ledger()

    def _some_file(self) -> list[Path]:
        return self.dice.sample(self.files(), min(1, len(self.files())))

    def meddle(self) -> None:
        """Change a flag or a name, or delete a key, in the target."""
        id_, flags = self.dice.choice([1, 2, 3]), sorted({flag for (flag,) in self.rows_in_target(["latest"])})
        match self.dice.choice(["flag", "name", "delete"]):
            case "flag":
                flag = self.dice.choice(flags)
                self.diary.append(f"a tester says {flag!r} of {id_}")
                self.in_target.do("UPDATE people SET latest = %s WHERE id = %s", flag, id_)
            case "name":
                self.diary.append(f"a tester names {id_}")
                self.in_target.do("UPDATE people SET name = 'tester' WHERE id = %s", id_)
            case "delete":
                self.diary.append(f"a tester deletes {id_}")
                self.in_target.do("DELETE FROM people WHERE id = %s", id_)

    def lose(self, losses: list[Callable[[World], None]]) -> None:
        loss = self.dice.choice(losses)
        self.diary.append(loss.__name__)
        loss(self)

    def assert_nothing_is_left_to_do(self) -> None:
        report = self.tidegate().verify()
        assert report.outcome == "equal", report.findings
        assert not self.tidegate().plan().does_something


OF_THE_LAKE = [World.lose_a_file, World.lose_all_files, World.cut_a_file]
OF_THE_LEDGER = [World.lose_a_ledger_row, World.lose_the_ledger]
OF_THE_TARGET = [World.lose_rows, World.lose_all_rows, World.lose_the_table, World.lose_rows_and_ledger]


@dataclass(frozen=True)
class TableSchema:
    """A random SCD2 table: its columns and its settings."""

    source: str
    keys: tuple[str, ...]
    by_number: bool
    numbered: bool
    recompute: bool
    flag_is_text: bool
    with_grade: bool
    with_ends: bool
    with_tombstones: bool
    with_future: bool
    batch_size: int | None

    @classmethod
    def thrown(cls, dice: random.Random, source: str) -> TableSchema:
        def perhaps() -> bool:
            return dice.random() < 0.5

        by_number = dice.random() < 0.3
        return cls(
            source=source,
            keys=dice.choice([("id",), ("id", "region")]),
            by_number=by_number,
            numbered=dice.random() < 0.4,
            recompute=perhaps(),
            flag_is_text=dice.random() < 0.2,
            with_grade=perhaps(),
            with_ends=perhaps(),
            with_tombstones=dice.random() < 0.4,
            with_future=not by_number and dice.random() < 0.3,
            batch_size=dice.choice([None, None, 1, 3]),
        )

    @property
    def columns(self) -> dict[str, str]:
        cursor = "bigint" if self.by_number else MOMENTS[self.source]
        flag = "varchar(1)" if self.flag_is_text else TRUTHS[self.source]
        return {
            **({"version": "int PRIMARY KEY"} if self.numbered else {}),
            "id": "int NOT NULL",
            **({"region": f"{REGIONS[self.source]} NOT NULL"} if len(self.keys) > 1 else {}),
            "name": "varchar(20)",
            **({"gone": "int NOT NULL"} if self.with_tombstones else {}),
            "changed": f"{cursor} NOT NULL",
            "latest": f"{flag} NOT NULL",
            **({"ends": cursor} if self.with_ends else {}),
            **({"grade": "int"} if self.with_grade else {}),
        }

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "business_keys": list(self.keys),
            "cursor_column": "changed",
            "flag_column": "latest",
            "look_back": LOOK_BACK if self.by_number else LOOK_BACK * 60,
            "flags": "recompute" if self.recompute else "source",
            **({"current_value": "Y", "superseded_value": "N"} if self.flag_is_text else {}),
            **({"version_key": ["version"]} if self.numbered else {}),
            **({"ignore_columns": ["grade"]} if self.with_grade else {}),
            **({"end_column": "ends"} if self.with_ends else {}),
            **({"tombstone_column": "gone"} if self.with_tombstones else {}),
            **({"batch_size": self.batch_size} if self.batch_size else {}),
        }

    def cells(self, row: Row) -> dict[str, Any]:
        when: Callable[[int | None], Any] = (lambda cursor: cursor) if self.by_number else moment_of
        flag = ("Y" if row.latest else "N") if self.flag_is_text else row.latest
        key = row.key if len(self.keys) > 1 else (KEYS.index(row.key),)
        all_of_them = {
            **dict(zip(("id", "region"), key, strict=False)),
            "version": row.version,
            "name": row.name,
            "gone": int(row.gone),
            "changed": when(row.cursor),
            "latest": flag,
            "ends": when(row.end),
            "grade": row.grade,
        }
        return {name: all_of_them[name] for name in self.columns}

    def version(self, cells: dict[str, Any]) -> Version:
        inside = [name for name in ("version", "name", "gone") if name in cells]
        return Version(
            key=tuple(cells[name] for name in self.keys),
            cursor=cells["changed"],
            content=tuple(cells[name] for name in inside),
            outside=(cells.get("grade"),),
            holds=cells["latest"] in (True, 1, "Y"),
            end=cells.get("ends"),
            is_tombstone=bool(cells.get("gone")),
        )


@dataclass
class KeptVersions:
    """A source with its own versions, and its target."""

    shape: TableSchema
    world: World
    life: Versions

    def live_a_day(self) -> None:
        self.life.live_a_day()
        rows = [tuple(self.shape.cells(row).values()) for row in self.life.rows]
        self.world.write(self.shape.columns, rows)

    def assert_as_defined(self) -> None:
        names = list(self.shape.columns)
        source = [self.shape.version(self.shape.cells(row)) for row in self.life.rows]
        target = [self.shape.version(dict(zip(names, row, strict=True))) for row in self.world.rows_in_target(names)]
        found = disagreements(source, target, recompute=self.shape.recompute, with_ends=self.shape.with_ends)
        assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"postgresql": request.getfixturevalue("postgres"), "mysql": request.getfixturevalue("mariadb")}


@pytest.fixture(params=PAIRS, ids=" to ".join)
def pair(servers: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """New databases of this pair."""
    source, target = request.param
    with database_on(servers[source]) as prod, database_on(servers[target]) as uat:
        yield prod, uat


def dice_of(seed: int, pair: tuple[str, str]) -> random.Random:
    """Return the random generator of a seed. Each pair has different histories."""
    return random.Random(f"{seed} {' to '.join(map(kind_of, pair))}")


@contextmanager
def described_failures(seed: int, world: World, *about: object) -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        story = "\n".join([f"TIDEGATE_SEED={seed}", *map(str, about), *world.diary])
        raise AssertionError(f"{story}\n{type(problem).__name__}: {problem}") from problem
    finally:
        world.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_source_versions_survive_random_histories(pair: tuple[str, str], tmp_path: Path, seed: int):
    """The source has its own versions. After any interruptions and losses, the target equals the definition."""
    dice = dice_of(seed, pair)
    shape = TableSchema.thrown(dice, kind_of(pair[0]))
    world = World(*pair, tmp_path, dice, shape.settings)
    life = Versions(
        dice,
        shape.numbered,
        shape.with_ends,
        shape.with_tombstones,
        shape.with_future,
        closes=not shape.recompute,
        diary=world.diary,
    )
    kept = KeptVersions(shape, world, life)
    with described_failures(seed, world, shape):
        for _ in range(dice.randint(3, 4)):
            kept.live_a_day()
            if world.loads and dice.random() < 0.5:
                # Until lost rows are restored, only the ledger has a record of them.
                of_the_target = [*OF_THE_LEDGER, *OF_THE_TARGET] if world.is_complete else []
                world.lose([*OF_THE_LAKE, World.hide_files, *of_the_target])
            if dice.random() < 0.4:
                world.run_and_be_stopped()
                if dice.random() < 0.3:
                    continue
            if dice.random() < 0.3:
                world.bring_files_back()
            world.run(reload=dice.random() < 0.1)
            kept.assert_as_defined()
        world.bring_files_back()
        world.run()
        kept.assert_as_defined()
        if not shape.with_future:  # verify skips keys with a version beyond the watermark
            world.meddle()
            world.repair()
        kept.assert_as_defined()
        world.assert_nothing_is_left_to_do()


# Generated history


@dataclass
class MadeVersions:
    """A source with only current rows, and the history generated from what the runs read."""

    world: World
    life: States
    composite: bool
    closes: bool
    observed: dict[tuple[object, ...], dict[Any, object]] = field(default_factory=dict)
    moments: list[tuple[datetime, datetime]] = field(default_factory=list)
    """Start and end of each run that read something, on the source's clock."""

    @property
    def keys(self) -> list[str]:
        return ["id", "region"] if self.composite else ["id"]

    def key(self, key: tuple[int, str]) -> tuple[object, ...]:
        return key if self.composite else (KEYS.index(key),)

    def live_a_day(self) -> None:
        self.life.live_a_day()
        types = ["int NOT NULL", f"{REGIONS[kind_of(self.world.source)]} NOT NULL"][: len(self.keys)]
        columns = {**dict(zip(self.keys, types, strict=True)), "name": "varchar(20)"}
        if self.life.by_mark:
            columns["changed"] = f"{MOMENTS[kind_of(self.world.source)]} NOT NULL"
        rows = [
            (*self.key(key), name, *((moment_of(cursor),) if self.life.by_mark else ()))
            for key, (name, cursor) in self.life.rows.items()
        ]
        self.world.write(columns, rows, f"PRIMARY KEY ({', '.join(self.keys)})")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Record the state of the source if the run in this block wrote a file, even if the run fails later."""
        before, begun = set(self.world.files()), self.world.clock()
        yield
        if set(self.world.files()) <= before:
            return
        self.moments.append((begun, self.world.clock()))
        for key in KEYS:
            states = self.observed.setdefault(self.key(key), {})
            name, cursor = self.life.rows.get(key, (ABSENT, None))
            if self.life.by_mark and name is not ABSENT:
                states[moment_of(cursor)] = name
            if not self.life.by_mark and (name is not ABSENT or self.closes):
                states[len(self.moments)] = name

    def assert_as_defined(self) -> None:
        rows = self.world.rows_in_target([*self.keys, "name", "start_date", "end_date", "is_current"])
        target = [
            (tuple(key), self._when(start), name, self._when(end), holds in (True, 1))
            for *key, name, start, end, holds in rows
        ]
        expected = made_of(self.observed)
        assert len(target) == len(set(target)), target
        assert set(target) == expected, f"lacks {expected - set(target)}, has besides {set(target) - expected}"

    def _when(self, moment: datetime | None) -> object:
        """Return the cursor, or without a cursor the number of the run."""
        if moment is None or self.life.by_mark:
            return moment
        return next(number for number, (begun, ended) in enumerate(self.moments, 1) if begun <= moment <= ended)


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_versions_survive_random_histories(pair: tuple[str, str], tmp_path: Path, seed: int):
    """The source has only current rows. After any interruptions and losses, the history equals what the runs saw."""
    dice = dice_of(seed, pair)
    composite, by_mark, closes = (dice.random() < 0.5 for _ in range(3))
    settings = {"history": "generate", **({"deletes": "close"} if closes and not by_mark else {})}
    if by_mark:
        settings |= {"cursor_column": "changed", "look_back": LOOK_BACK * 60}
    settings |= dice.choice([{}, {}, {"batch_size": 2}, {"surrogate_key": "number"}])
    world = World(*pair, tmp_path, dice, settings)
    made = MadeVersions(world, States(dice, by_mark, diary=world.diary), composite, closes)
    # History that is lost in both lake and target cannot be restored. So each history loses only one of them, and no
    # file that was not loaded.
    losses = [*OF_THE_LEDGER, *dice.choice([OF_THE_LAKE, OF_THE_TARGET])]
    with described_failures(seed, world, settings):
        for _ in range(dice.randint(3, 4)):
            made.live_a_day()
            if world.is_complete and dice.random() < 0.5:
                world.lose(losses)
            if dice.random() < 0.4:
                with made.watched():
                    world.run_and_be_stopped()
                if dice.random() < 0.3:
                    continue
            with made.watched():
                world.run()
            made.assert_as_defined()
        with made.watched():
            world.run()
        made.assert_as_defined()
        world.assert_nothing_is_left_to_do()


@pytest.mark.parametrize("history", ["source", "generated"])
def test_histories_survive_in_buckets(
    pair: tuple[str, str], tmp_path: Path, history: str, monkeypatch: pytest.MonkeyPatch
):
    """The same, when every window counts as large and is decided in buckets of two rows; checks compare so, too."""
    monkeypatch.setattr("tidegate.loads._large_timeline.LARGE", 1)
    monkeypatch.setattr("tidegate.buckets.assign.VERSIONS_PER_BUCKET", 2)
    tests = {
        "source": test_source_versions_survive_random_histories,
        "generated": test_generated_versions_survive_random_histories,
    }
    tests[history](pair, tmp_path, 20240118)
