"""A frame that is loaded by a process which is killed: before the commit nothing is there, after it all, once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.pairs import first_daily
from kit.project import child, database_on

if TYPE_CHECKING:
    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

LOAD = """
import os, signal, sys
import pyarrow as pa
from tidegate import plugins
from tidegate.config.urls import parse_connection
from tidegate.frames.load import FrameLoad
from tidegate.frames.spill import spilled
from tidegate.frames.target import prepare
from tidegate.model.records import LoadMetrics, Watermark
from tidegate.state import lock, own_tables
from tidegate.state.ledger import Ledger
from tidegate.state.records import Records

url, place = sys.argv[1:]
database = plugins.database(parse_connection(url))
rows = pa.table({"id": pa.array(range(2, 1002)), "v": ["new"] * 1000})

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

with database.connect("load") as session:
    Ledger(session).create()
    own_tables.create(session)
    target = prepare(session, "t", rows.schema, ["id"])
    lock.take(session, "t", "monday")
    metrics = LoadMetrics("monday", target_table="t")
    job = FrameLoad(database, target.name, target.columns, ("id",), "upsert", "t", metrics,
                    Watermark("p", "s", "id", 1001, "sequence"))
    if place == "before the commit":
        record = Records.record_load
        Records.record_load = lambda self, metrics: (record(self, metrics), die())
    with spilled(iter(rows.to_batches(max_chunksize=100))) as again:
        done = job.run(again)
    if place == "after the commit":
        die()
    print(done.records_inserted, done.records_updated)
"""


@pytest.fixture(params=first_daily("postgresql", "mysql"))
def url(request: pytest.FixtureRequest, postgres: EmbeddedPostgres, mariadb: MariaDb) -> Iterator[str]:
    servers: dict[str, Any] = {"postgresql": postgres, "mysql": mariadb}
    with ExitStack() as opened:
        yield opened.enter_context(database_on(servers[request.param]))


@pytest.mark.parametrize("place", ["before the commit", "after the commit"])
def test_killed_load_is_done_once(url: str, place: str):
    sides.do(url, "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(9))")
    sides.do(url, "INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    with child("-c", LOAD, url, place) as killed:
        _, errors = killed.communicate(timeout=100)
    assert killed.returncode == -9, errors
    own = "tidegate." if sides.kind_of(url) == "postgresql" else "tidegate_"
    held = sides.ask(url, "SELECT count(*) FROM t"), sides.ask(url, f"SELECT count(*) FROM {own}watermarks")  # noqa: S608
    assert held == (([(2,)], [(0,)]) if place == "before the commit" else ([(1001,)], [(1,)]))
    with child("-c", LOAD, url, "never") as again:
        output, errors = again.communicate(timeout=100)
    assert (again.returncode, output.split()) == (0, ["999", "1"]), errors
    assert sides.ask(url, "SELECT v, count(*) FROM t GROUP BY v ORDER BY v") == [("new", 1000), ("old", 1)]
    assert sides.ask(url, f"SELECT load_id, records_written FROM {own}incremental_metrics") == [("monday", 1000)]  # noqa: S608
