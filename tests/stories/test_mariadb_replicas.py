"""MariaDB with a replica, by real replication: the replica as the source, and a failover from one to the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import pytest

from kit.copied import Copied
from kit.logged import logging_server
from kit.project import database_on
from kit.sides import ask, do

if TYPE_CHECKING:
    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.mysql, pytest.mark.postgres, pytest.mark.thorough, pytest.mark.slow]

CREATE = "CREATE TABLE items (id int PRIMARY KEY, name varchar(40), at datetime(6), KEY (at))"
ALL = "SELECT id, name, at FROM items"
FILL = "INSERT INTO items SELECT seq, concat('n', seq), '2024-01-01' FROM seq_1_to_100"
WAYS = {
    "hybrid": {"timestamp_column": "at", "id_column": "id", "deletes": "key_compare"},
    "binary log, keys": {"changes": "cdc"},
    "binary log, images": {"changes": "cdc", "mode": "images"},
}


class Group:
    """A primary and a replica that follows it by GTID."""

    def __init__(self, primary: MariaDb, replica: MariaDb) -> None:
        self.primary, self.replica = primary, replica
        url = urlparse(primary.url())
        for server in (primary, replica):  # the accounts that both made by themselves are no part of the group's log
            do(server.url("mysql"), "RESET MASTER")
        do(
            replica.url("mysql"),
            f"CHANGE MASTER TO master_host = '127.0.0.1', master_port = {url.port}, master_user = '{url.username}',"
            f" master_password = '{url.password}', master_use_gtid = slave_pos",
        )
        do(replica.url("mysql"), "START SLAVE")

    def wait(self) -> None:
        """Wait until the replica has what the primary wrote."""
        [(wanted,)] = ask(self.primary.url("mysql"), "SELECT @@gtid_binlog_pos")
        assert ask(self.replica.url("mysql"), f"SELECT MASTER_GTID_WAIT('{wanted}', 30)") == [(0,)]


@pytest.fixture
def group() -> Iterator[Group]:
    with (
        logging_server() as primary,
        logging_server("--server-id=8", "--log-slave-updates", "--read-only") as replica,
    ):
        yield Group(primary, replica)


@pytest.mark.parametrize("way", WAYS)
def test_replica_is_the_source_and_then_the_primary(group: Group, postgres: EmbeddedPostgres, way: str, tmp_path: Path):
    """Changes on the primary arrive by way of the replica. When the replica is gone, the same project goes on with the
    primary: the GTIDs find the place in its log, and nothing is read anew."""
    tables: dict[str, Any] = {"items": {"kind": "incremental", **WAYS[way]}}
    primary = group.primary.create_database("shop")
    with database_on(postgres) as target:
        writer = Copied(primary, target, tmp_path / "lake")
        writer.in_source(CREATE)
        writer.in_source(FILL)
        group.wait()
        reader = Copied(group.replica.url("shop"), target, tmp_path / "lake")
        synced = reader.tidegate(tables)
        synced.run()
        reader.assert_equal(ALL)
        writer.in_source(
            "UPDATE items SET name = 'changed', at = '2024-01-02' WHERE id < 5;\nDELETE FROM items WHERE id = 50"
        )
        group.wait()
        synced.run()
        writer.assert_equal(ALL)
        assert not synced.plan().does_something
        writer.in_source(
            "UPDATE items SET name = 'later', at = '2024-01-03' WHERE id = 7;\nDELETE FROM items WHERE id = 51"
        )
        group.replica.stop()
        time.sleep(0.1)
        report = writer.tidegate(tables).run()
        writer.assert_equal(ALL)
        if "changes" in WAYS[way]:
            assert report.rows_extracted == 1, "the log was read on, and the table not anew"
