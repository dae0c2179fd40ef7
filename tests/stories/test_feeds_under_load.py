"""Change feeds while a workload writes without a pause and runs are killed at random: the end state row by row, and
with versions image by image, against a log that the workload itself keeps."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kit.changing import Changing, histories
from kit.copied import Copied
from kit.project import child, database_on
from kit.sides import ask, opened

if TYPE_CHECKING:
    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.thorough, pytest.mark.slow]

CREATE = "CREATE TABLE items (id int PRIMARY KEY, name varchar(40), amount bigint)"
NOW = "SELECT id, name, amount FROM items"
VERSIONS = "SELECT id, name, amount, start_date, end_date FROM items"
FEEDS = {
    "pgoutput, keys": ("postgresql", {"changes": "cdc"}),
    "pgoutput, images": ("postgresql", {"changes": "cdc", "mode": "images"}),
    "pgoutput, versions": ("postgresql", {"changes": "cdc", "load": "scd2"}),
    "binary log, keys": ("mysql", {"changes": "cdc"}),
    "binary log, images": ("mysql", {"changes": "cdc", "mode": "images"}),
    "binary log, versions": ("mysql", {"changes": "cdc", "load": "scd2"}),
    "triggers of PostgreSQL": ("postgresql", {"changes": "triggers"}),
    "triggers of MariaDB": ("mysql", {"changes": "triggers"}),
}
KILLS = 6


@pytest.fixture
def copied(request: pytest.FixtureRequest, postgres: EmbeddedPostgres, feed: str, tmp_path: Path) -> Iterator[Copied]:
    with ExitStack() as databases:
        server: MariaDb | EmbeddedPostgres = postgres
        if FEEDS[feed][0] == "mysql":
            server = request.getfixturevalue("logging_mariadb")
        source, target = (databases.enter_context(database_on(each)) for each in (server, postgres))
        made = Copied(source, target, tmp_path / "lake")
        made.in_source(CREATE)
        yield made
        if FEEDS[feed][0] == "postgresql":
            ask(source, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("seed", [1])
def test_killed_runs_beside_a_workload(copied: Copied, feed: str, seed: int, tmp_path: Path):
    kind, settings = FEEDS[feed]
    tables = {"items": {"kind": "incremental", **settings}}
    synced = copied.tidegate(tables)
    if kind == "postgresql" or settings["changes"] == "triggers":
        synced.create_feed()
    if "load" in settings:
        synced.run()  # what a key was before the first read has no versions
    chance, stop = random.Random(seed), Event()
    places = {"source": copied.source, "target": copied.target, "lake": str(copied.lake), "engine": "process"}
    (tmp_path / "tidegate.yml").write_text(yaml.safe_dump({**places, "tables": tables}))
    with opened(copied.source) as writer, ThreadPoolExecutor(1) as threads:
        work = Changing(_runner(writer), seed)
        writing = threads.submit(_write, work, stop, truncates=kind == "postgresql")
        try:
            ended = list[int]()
            for _ in range(KILLS):
                with child("-m", "tidegate.cli.main", "run", "-c", tmp_path / "tidegate.yml") as victim:
                    time.sleep(chance.uniform(0.7, 4))
                    victim.kill()
                    ended.append(victim.wait(60))
            synced.run()
            if "load" not in settings:
                copied.in_source("ALTER TABLE items ADD COLUMN size integer DEFAULT 7")
            synced.run()
        finally:
            stop.set()
            transactions = writing.result(60)
    assert transactions > 100 and set(ended) <= {0, -signal.SIGKILL}
    synced.run()
    current = " WHERE is_current" if "load" in settings else ""
    assert sorted(ask(copied.target, NOW + current), key=str) == work.expected()
    if "load" in settings:
        assert histories(ask(copied.target, VERSIONS)) == work.versions
    assert synced.verify().exit_code == 0
    assert not synced.plan().does_something


def _runner(writer: Any) -> Any:
    def run(statements: list[str]) -> None:
        for statement in ("START TRANSACTION", *statements):
            writer.do(statement.replace("INTO items VALUES", "INTO items (id, name, amount) VALUES"))
        if statements[-1] != "ROLLBACK":
            writer.do("COMMIT")

    return run


def _write(work: Changing, stop: Event, *, truncates: bool) -> int:
    count = 0
    while not stop.is_set():
        work.transactions(1, truncates=truncates)
        count += 1
        time.sleep(0.01)
    return count
