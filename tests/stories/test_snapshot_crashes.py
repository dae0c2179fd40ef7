"""Saves of snapshots that are killed between any two steps, and several writers at a time."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import save_snapshot, sides, stream_snapshot
from kit.project import database_on
from tidegate.api import Snapshots

if TYPE_CHECKING:
    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

PLACES = [
    "rows written",
    "half of the archive",
    "archive written",
    pytest.param("table written", marks=pytest.mark.thorough),  # the next test has it, too
    pytest.param("window rolled", marks=pytest.mark.thorough),
]
IN_TABLE = {"rows written": 0}
IN_ARCHIVE = {"rows written": 0, "table written": 0, "half of the archive": 0}
Place = tuple[str, str]


@pytest.fixture(params=["postgresql", pytest.param("mysql", marks=pytest.mark.thorough)])
def place(request: pytest.FixtureRequest, postgres: EmbeddedPostgres, mariadb: MariaDb) -> Iterator[Place]:
    """A database for the snapshot table, and one for the archive."""
    servers: dict[str, Any] = {"mysql": mariadb, "postgresql": postgres}
    with database_on(servers[request.param]) as work, database_on(postgres) as archive:
        yield work, archive


def opened(place: Place, *, with_archive: bool = True) -> Snapshots:
    return Snapshots.open(
        database=place[0], archive=place[1] if with_archive else False, table="crashes", business_key=["id"], keep=2
    )


def save(place: Place, at: str, batch: str, rows: int) -> int:
    """Save in another process, which is killed at a place. Return its exit code."""
    script = Path(save_snapshot.__file__)
    return subprocess.run([sys.executable, script, *place, at, batch, str(rows)], check=False).returncode


def state(place: Place) -> tuple[int, int, int]:
    """Return the rows of the snapshot table, the archives, and the rows that refer to an archive."""
    [(rows, referring)] = sides.ask(place[0], "SELECT count(*), count(parquet_archive_id) FROM crashes")
    [(archives,)] = sides.ask(place[1], "SELECT count(*) FROM snapshot_archive")
    return rows, archives, referring


@pytest.mark.parametrize("at", PLACES)
def test_killed_save_is_completed_by_the_same_batch(place: Place, at: str):
    """Killed anywhere: the table has the snapshot or not at all, the archive too, and the same save does the rest."""
    opened(place).install()
    batch = str(uuid.uuid4())
    assert save(place, at, batch, 3000) == -9
    rows, archives, _ = state(place)
    assert (rows, archives) == (IN_TABLE.get(at, 3000), IN_ARCHIVE.get(at, 1))

    snapshot = opened(place).save(save_snapshot.rows(3000), "x", batch)

    assert state(place) == (3000, 1, 3000)
    assert opened(place).detect(save_snapshot.rows(3000), "x").rows["unchanged"] == 3000
    assert opened(place).load(opened(place).find_archive(snapshot.archive_id), "arrow").num_rows == 3000
    assert opened(place).problems() == {snapshot.archive_id: []}


@pytest.mark.parametrize("at", ["table written", "archive written"])
def test_killed_save_is_completed_or_said_by_the_next(place: Place, at: str, caplog: pytest.LogCaptureFixture):
    opened(place).install()
    batch = str(uuid.uuid4())
    save(place, at, batch, 100)
    with caplog.at_level(logging.WARNING, "tidegate.snapshots"):
        opened(place).save(save_snapshot.rows(200), "x")
    if at == "archive written":
        assert state(place) == (300, 2, 300)
        assert "completed" in caplog.text
    else:
        assert state(place) == (300, 1, 200)
        assert batch in caplog.text


def test_two_writers_of_one_filter_do_not_mix(place: Place):
    """Each snapshot is whole, one after the other, and the last one wins."""
    opened(place).install()
    counts = [50, 60, 70, 80]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda count: opened(place).save(save_snapshot.rows(count), "x"), counts))
    newest, previous = opened(place).snapshots("x")
    assert newest.snapshot_date > previous.snapshot_date
    kept = sides.ask(place[0], "SELECT count(*) FROM crashes GROUP BY batch_id ORDER BY max(snapshot_date) DESC")
    assert kept == [(newest.rows,), (previous.rows,)]
    assert opened(place).detect(save_snapshot.rows(newest.rows), "x").rows["unchanged"] == newest.rows
    assert sorted(archive.rows for archive in opened(place).archives()) == counts


@pytest.mark.thorough
def test_one_batch_by_two_processes_is_saved_once(place: Place):
    opened(place).install()
    batch = str(uuid.uuid4())
    with ThreadPoolExecutor(3) as threads:
        codes = list(threads.map(lambda _: save(place, "", batch, 1000), range(3)))
    assert codes == [0, 0, 0]
    assert state(place) == (1000, 1, 1000)


def test_first_use_by_several_writers_creates_one_table(place: Place):
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda name: opened(place).save(save_snapshot.rows(10), name), "xyz"))
    assert state(place) == (30, 3, 30)


@pytest.mark.thorough
@pytest.mark.slow
def test_large_archive_streams_in_bounded_memory(place: Place, tmp_path: Path):
    """5 GiB go in, come out and are validated by a process that never has more than 1 GiB of memory."""
    size = os.environ.get("TIDEGATE_TEST_ARCHIVE_MIB", "5120")
    script = Path(stream_snapshot.__file__)
    found = subprocess.run(
        [sys.executable, script, *place, size, tmp_path], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) < 1024
