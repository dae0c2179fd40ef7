"""MariaDB as a source whose settings are not the usual ones: time zones, isolation, zero dates, generated columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kit.mariadb import MariaDb
from kit.mysql_witness import opened
from kit.project import database_on
from kit.witness import Witness
from tidegate import Tidegate
from tidegate.demo.embedded import EmbeddedPostgres
from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

NAME = "depths"


@dataclass
class Place:
    """A database of MariaDB as source, one of PostgreSQL as target, and a project of one table."""

    server: MariaDb
    target: str
    folder: Path

    def do(self, script: str) -> None:
        with closing(opened(self.server.url(NAME))) as connection, connection.cursor() as cursor:
            for statement in filter(str.strip, script.split(";")):
                cursor.execute(statement)
            connection.commit()

    def project(self, table: str, **settings: Any) -> Tidegate:
        places = {"source": self.server.url(NAME), "target": self.target, "lake": str(self.folder / "lake")}
        return Tidegate(**places, engine="process", tables={table: settings})

    def run(self, table: str, **settings: Any) -> RunReport:
        with self.project(table, **settings) as tidegate:
            return tidegate.run()

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        with Witness(self.target) as witness:
            return witness.ask(question)


@pytest.fixture
def place(mariadb: MariaDb, postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Place]:
    mariadb.drop_database(NAME)
    mariadb.create_database(NAME)
    with database_on(postgres) as target:
        yield Place(mariadb, target, tmp_path)


@pytest.fixture
def server_setting(mariadb: MariaDb) -> Iterator[Callable[[str, str], None]]:
    """Set a variable for all new sessions of the server, until the test ends."""
    before: dict[str, Any] = {}

    def chosen(name: str, value: str) -> None:
        with closing(opened(mariadb.url())) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@global." + name)
            before.setdefault(name, (cursor.fetchone() or [None])[0])
            cursor.execute("SET GLOBAL " + name + " = %s", (value,))

    yield chosen
    with closing(opened(mariadb.url())) as connection, connection.cursor() as cursor:
        for name, value in before.items():
            cursor.execute("SET GLOBAL " + name + " = %s", (value,))


INCREMENTAL = {"kind": "incremental", "timestamp_column": "at", "id_column": "id"}


@pytest.mark.parametrize("zone", ["+09:00", pytest.param("-11:00", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("kind", ["timestamp(6)", "datetime(6)"])
def test_server_in_another_time_zone(place: Place, server_setting: Callable[[str, str], None], zone: str, kind: str):
    """A TIMESTAMP is a moment, a DATETIME the server's local time. Rows of this minute are neither lost nor future."""
    server_setting("time_zone", zone)
    place.do("CREATE TABLE t (id int PRIMARY KEY, at " + kind + " NULL, KEY (at))")
    place.do("INSERT INTO t SELECT seq, now(6) FROM seq_1_to_9")
    place.run("t", **INCREMENTAL)
    place.do("INSERT INTO t VALUES (10, now(6)); UPDATE t SET at = now(6) WHERE id = 1")
    place.run("t", **INCREMENTAL)
    [(count, first, last)] = place.ask(
        "SELECT count(*), min(extract(epoch FROM at)), max(extract(epoch FROM at)) FROM t"
    )
    now = time.time() + (int(zone.partition(":")[0]) * 3600 if kind.startswith("datetime") else 0)
    assert count == 10
    assert all(abs(float(moment) - now) < 600 for moment in (first, last))
    with place.project("t", **INCREMENTAL) as tidegate:
        assert tidegate.verify().outcome == "equal"


def test_server_that_reads_committed(place: Place, server_setting: Callable[[str, str], None]):
    """Our sessions choose their own isolation: a large table is read on one snapshot all the same."""
    server_setting("tx_isolation", "READ-COMMITTED")
    place.do("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT seq, 1 FROM seq_1_to_20000")
    report = place.run("t", kind="static", primary_keys=["id"], batch_rows=500)
    assert report.outcome == "done"
    assert place.ask("SELECT count(*), sum(v) FROM t") == [(20000, 20000)]


def test_zero_dates_arrive_as_they_are(place: Place):
    """A zero date is no day: the column travels as text, and is changed like any other."""
    place.do(
        "SET SESSION sql_mode = ''; CREATE TABLE t (id int PRIMARY KEY, born date, at datetime NULL, KEY (at));"
        " INSERT INTO t VALUES (1, '0000-00-00', '2024-01-01'), (2, '2024-00-00', '2024-01-02'),"
        " (3, '1999-12-31', '2024-01-02')"
    )
    place.run("t", **INCREMENTAL, columns={"born": "text"})
    assert place.ask("SELECT id, born FROM t ORDER BY id") == [(1, "0000-00-00"), (2, "2024-00-00"), (3, "1999-12-31")]
    place.do("SET SESSION sql_mode = ''; UPDATE t SET born = '2000-01-01', at = '2024-01-03' WHERE id = 1")
    place.run("t", **INCREMENTAL, columns={"born": "text"})
    assert place.ask("SELECT id, born FROM t ORDER BY id") == [(1, "2000-01-01"), (2, "2024-00-00"), (3, "1999-12-31")]


def test_zero_time_as_cursor_is_refused_by_name(place: Place):
    """A cursor keeps its type, and PostgreSQL has no such moment: nothing is loaded until the row is corrected
    and read anew."""
    place.do(
        "SET SESSION sql_mode = ''; CREATE TABLE t (id int PRIMARY KEY, at datetime NOT NULL, KEY (at));"
        " INSERT INTO t VALUES (1, '0000-00-00 00:00:00'), (2, '2024-01-02 00:00:00')"
    )
    with place.project("t", **INCREMENTAL) as tidegate:
        [(_, message)] = tidegate.run(check=False).failures
    assert "column at cannot store a value" in message
    assert place.ask("SELECT count(*) FROM t") == [(0,)]
    place.do("SET SESSION sql_mode = ''; UPDATE t SET at = '2024-01-03' WHERE id = 1")
    with place.project("t", **INCREMENTAL) as tidegate:
        tidegate.run(reload=True)
    assert place.ask("SELECT count(*) FROM t") == [(2,)]


def test_generated_columns_are_copied_as_values(place: Place):
    """Virtual and stored ones, one of them the cursor, and one that a key is made of."""
    place.do(
        "CREATE TABLE t (id int PRIMARY KEY, price decimal(9,2), amount int,"
        " total decimal(12,2) AS (price * amount) VIRTUAL, changed datetime(6) NULL,"
        " at datetime(6) AS (coalesce(changed, '2024-01-01')) PERSISTENT, KEY (at));"
        " INSERT INTO t (id, price, amount) SELECT seq, seq / 4, 4 FROM seq_1_to_50"
    )
    place.run("t", **INCREMENTAL)
    place.do(
        "UPDATE t SET amount = 8, changed = '2024-02-01' WHERE id = 5;"
        " INSERT INTO t (id, price, amount) VALUES (51, 1, 1)"
    )
    place.run("t", **INCREMENTAL)
    assert place.ask("SELECT count(*), sum(total) FROM t") == [(51, Decimal(1275 + 5 + 1))]


def test_partitioned_table_is_read_whole(place: Place):
    """A table partitioned by range and one by key: every partition is read, also one that is added later."""
    place.do(
        "CREATE TABLE t (id int, at datetime(6), PRIMARY KEY (id, at)) PARTITION BY RANGE COLUMNS (at)"
        " (PARTITION p1 VALUES LESS THAN ('2024-02-01'), PARTITION p2 VALUES LESS THAN ('2024-03-01'));"
        " INSERT INTO t SELECT seq, if(seq % 2, '2024-01-05', '2024-02-05') FROM seq_1_to_100"
    )
    settings = {**INCREMENTAL, "keys": ["id"]}
    place.run("t", **settings)
    place.do(
        "ALTER TABLE t ADD PARTITION (PARTITION p3 VALUES LESS THAN MAXVALUE);"
        " INSERT INTO t SELECT seq, '2024-03-05' FROM seq_101_to_110"
    )
    place.run("t", **settings)
    assert place.ask("SELECT count(*), count(DISTINCT at) FROM t") == [(110, 3)]


def test_row_that_a_replica_shows_late_is_read(place: Place):
    """A replica applies transactions in another order than their times: a row with an older time comes after the
    watermark. The look-back reads it."""
    place.do(
        "CREATE TABLE t (id int PRIMARY KEY, at datetime(6), KEY (at));"
        " INSERT INTO t SELECT seq, '2024-01-01 10:00:00' + INTERVAL seq SECOND FROM seq_1_to_100"
    )
    place.run("t", **INCREMENTAL, look_back="10m")
    place.do("INSERT INTO t VALUES (101, '2024-01-01 10:01:00')")
    place.run("t", **INCREMENTAL, look_back="10m")
    assert place.ask("SELECT count(*) FROM t WHERE id = 101") == [(1,)]
