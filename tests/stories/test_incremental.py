"""Incremental tables: only what changed is read and merged, on every pair of databases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING

import pytest

from kit.orders import NOW, Orders, connected
from kit.sides import ask, kind_of
from tidegate.errors import RunFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

EARLY, LATER = "2024-01-31 10:00:00.000001", "2024-01-31 12:30:00.123456"
TIME = {"postgresql": "timestamp", "mysql": "datetime(6)"}
INSERT_LATE = "INSERT INTO `{}`.orders VALUES (7, 'late', 1, NULL, {})"
THOUSAND = """
INSERT INTO orders
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
SELECT n, 'tea', n, CAST(%s AS {time}), CAST(%s AS {time}) FROM numbers
"""


@contextmanager
def watching(url: str) -> Iterator[None]:
    """Read the server's view of its transactions all the time."""
    done = Event()

    def watch() -> None:
        connection = connected(url)
        with connection.cursor() as cursor:
            while not done.wait(0.02):
                cursor.execute("SELECT * FROM information_schema.INNODB_TRX")
                cursor.fetchall()
        connection.close()

    with ThreadPoolExecutor(1) as threads:
        watcher = threads.submit(watch)
        try:
            yield
        finally:
            done.set()
            watcher.result()


@pytest.mark.spark
def test_changes_are_merged(orders: Orders, spark: SparkSession):
    """The first run loads all rows, the second none, the third one insert and one update."""
    orders.spark = spark
    orders.write(1, 2, 3, at=EARLY)
    report = orders.run()
    assert (report.outcome, report.rows_loaded) == ("done", 3)
    orders.assert_equal()
    assert orders.status().watermark == EARLY
    assert orders.run().outcome == "nothing to do"

    orders.write(2, 4, at=LATER, item="coffee")
    report = orders.run()
    assert report.steps[-1].why.endswith("1 inserted, 1 updated, 0 deleted")
    orders.assert_equal()
    assert orders.status().watermark == LATER


def test_equal_timestamps_are_all_copied(orders: Orders):
    """A thousand rows have one timestamp, and more rows of the same timestamp come later."""
    orders.in_source(THOUSAND.format(time=TIME[kind_of(orders.source)]), EARLY, EARLY)
    orders.run()
    orders.assert_equal()
    orders.write(2000, 3, at=EARLY, item="same time")
    assert orders.run().steps[-1].why.endswith("1 inserted, 1 updated, 0 deleted")
    orders.assert_equal()


@pytest.mark.parametrize("changes", ["timestamp", "hybrid"])
def test_late_commit_with_an_old_time_is_read(orders: Orders, changes: str):
    """A transaction wrote a time before it committed. Meanwhile a run read later rows. The watermark waits for it."""
    orders.settings["changes"] = changes
    if changes == "timestamp":
        del orders.settings["id_column"]
    orders.settings["look_back"] = 0
    with orders.transaction() as execute:
        orders.insert_now(7, execute)
        orders.insert_now(8)
        orders.run()
        assert [row[0] for row in orders.rows(orders.target)] == [8]
        assert orders.steps() == []  # the transaction is still open
    assert orders.run().rows_loaded == 1
    orders.assert_equal()


def test_open_transaction_is_seen_while_others_watch(new_orders: Callable[[str, str], Orders]):
    """A tool that watches the server's transactions keeps MySQL's view of them as it was. The watermark waits all the
    same."""
    orders = new_orders("mysql", "postgresql")
    orders.settings = {"kind": "incremental", "changes": "sequence", "sequence_column": "id", "load": "append"}
    orders.in_source("INSERT INTO orders VALUES (1, 'tea', 1, NULL, NULL)")
    orders.run()
    with watching(orders.source), orders.transaction() as execute:
        execute("INSERT INTO orders VALUES (2, 'tea', 1, NULL, NULL)")
        orders.in_source("INSERT INTO orders VALUES (3, 'tea', 1, NULL, NULL)")
        orders.run()
        assert orders.status().watermark == "1"
    orders.run()
    orders.assert_equal()


def test_late_commit_of_another_database_is_read(new_orders: Callable[[str, str], Orders]):
    """The writer's session has no default database, and names the table in full. The watermark waits for it, too."""
    orders = new_orders("mysql", "postgresql")
    orders.settings["look_back"] = 0
    with orders.transaction() as execute:
        execute("USE information_schema")
        execute(INSERT_LATE.format(orders.source.rpartition("/")[2], NOW["mysql"]))
        orders.insert_now(8)
        orders.run()
        assert [row[0] for row in orders.rows(orders.target)] == [8]
    assert orders.run().rows_loaded == 1
    orders.assert_equal()


@pytest.mark.parametrize("max_hold", [900, pytest.param(0, marks=pytest.mark.thorough)])
def test_waiting_transactions_hide_no_other(max_hold: int, new_orders: Callable[[str, str], Orders]):
    """Sessions wait for a row that another one has changed. One more wrote a row meanwhile and commits late."""
    orders = new_orders("mysql", "postgresql")
    orders.settings |= {"look_back": 0, "max_hold": max_hold}
    orders.write(1, at=EARLY)
    change = "UPDATE orders SET amount = amount + 1 WHERE id = 1"
    with ThreadPoolExecutor(8) as threads:
        with orders.transaction() as execute:
            execute(change)
            with orders.transaction() as late:
                orders.insert_now(7, late)
                time.sleep(3.5)
                waiting = [threads.submit(orders.in_source, change) for _ in range(8)]
                orders.insert_now(8)
                time.sleep(2.3)
                orders.run()
                assert [row[0] for row in orders.rows(orders.target)] == [1, 8]
        for change_of_row in waiting:
            change_of_row.result()
    orders.run()
    assert [row[0] for row in orders.rows(orders.target)] == [1, 7, 8]


def test_idle_transaction_becomes_a_gap(orders: Orders):
    """A transaction is open for longer than `max_hold`: the watermark goes on. When it ends, its rows are read."""
    orders.settings |= {"look_back": 0, "max_hold": 0}
    orders.write(1, at=EARLY)
    with orders.transaction() as execute:
        orders.insert_now(7, execute)
        time.sleep(1.1)
        orders.insert_now(8)
        orders.run()
        assert orders.status().watermark > EARLY
        assert "are read again when session" in orders.notices()
        orders.insert_now(9)
        orders.run()
    assert [row[0] for row in orders.rows(orders.target)] == [1, 8, 9]
    [extract, load] = orders.run().steps
    assert extract.why.endswith("has ended: what it may have brought is read again")
    assert load.rows == 1
    orders.assert_equal()


def test_rows_without_cursor_are_refused(orders: Orders):
    """A row without a cursor value is named, and nothing is loaded, unless a policy says what to do."""
    orders.write(1, at=EARLY)
    orders.in_source("INSERT INTO orders VALUES (5, 'never changed', 1, '2024-01-01 00:00:00', NULL)")
    with pytest.raises(RunFailed, match="have no value in updated_at, such as id = 5"):
        orders.run()
    orders.settings["null_cursor"] = "coalesce(created_at)"
    orders.run()
    orders.assert_equal()
    assert orders.status().watermark == EARLY


def test_rows_without_cursor_are_read_once(plain_orders: Orders):
    plain_orders.settings["null_cursor"] = "once"
    plain_orders.write(1, at=EARLY)
    plain_orders.in_source("INSERT INTO orders VALUES (5, 'no time', 1, NULL, NULL)")
    plain_orders.run()
    plain_orders.assert_equal()
    plain_orders.in_source("INSERT INTO orders VALUES (6, 'no time either', 1, NULL, NULL)")
    assert plain_orders.run().rows_loaded == 1
    plain_orders.assert_equal()


def test_greatest_of_two_columns_is_the_cursor(orders: Orders):
    orders.settings["timestamp_column"] = "greatest(updated_at, created_at)"
    orders.in_source("INSERT INTO orders VALUES (5, 'created', 1, %s, NULL)", EARLY)
    orders.in_source("INSERT INTO orders VALUES (6, 'updated', 1, '2024-01-01 00:00:00', %s)", EARLY)
    orders.run()
    orders.assert_equal()
    orders.in_source("INSERT INTO orders VALUES (7, 'created', 1, %s, NULL)", LATER)
    assert orders.run().rows_loaded == 1
    orders.assert_equal()
    assert orders.status().watermark == LATER


def test_future_cursor_does_not_advance_the_watermark(plain_orders: Orders):
    plain_orders.write(1, at=EARLY)
    plain_orders.write(2, at="2100-01-01 00:00:00")
    plain_orders.run()
    assert "cursor values in the future" in plain_orders.notices()
    plain_orders.assert_equal()
    assert plain_orders.status().watermark == EARLY
    plain_orders.write(3, at=LATER)
    assert plain_orders.run().rows_loaded == 1
    plain_orders.assert_equal()


def test_restored_source_is_said(plain_orders: Orders):
    """The source is as it was yesterday: its newest row is older than the watermark. A reload brings both in step."""
    plain_orders.write(1, at=EARLY)
    plain_orders.write(2, at=LATER)
    plain_orders.run()
    plain_orders.in_source("DELETE FROM orders WHERE id = 2")
    assert "below the watermark 2024-01-31 12:30:00.123456: it was restored" in plain_orders.notices()
    report = plain_orders.run()
    assert [finding.severity for finding in report.findings] == ["warning"]


def test_deleted_rows_leave_by_key_comparison(orders: Orders):
    """Without `deletes: key_compare` a row that left the source stays; with it, it leaves the target."""
    orders.write(1, 2, 3, at=EARLY)
    orders.run()
    orders.in_source("DELETE FROM orders WHERE id = 2")
    orders.run()
    assert len(orders.rows(orders.target)) == 3
    orders.settings["deletes"] = "key_compare"
    assert orders.run().steps[-1].why.endswith("0 inserted, 0 updated, 1 deleted")
    orders.assert_equal()


def test_replace_loads_all_rows_when_one_changed(plain_orders: Orders):
    plain_orders.settings["load"] = "replace"
    plain_orders.write(1, 2, 3, at=EARLY)
    plain_orders.run()
    plain_orders.in_source("DELETE FROM orders WHERE id = 2")
    plain_orders.write(4, at=LATER)
    assert plain_orders.run().rows_loaded == 3
    plain_orders.assert_equal()


def test_history_is_generated_from_changes(plain_orders: Orders):
    """`load: scd2` keeps one version per change: the old one ends where the new one begins."""
    plain_orders.settings |= {"load": "scd2", "history": "generate", "keys": ["id"]}
    plain_orders.write(1, 2, at=EARLY)
    plain_orders.run()
    plain_orders.write(2, at=LATER, item="coffee")
    plain_orders.run()
    versions = ask(plain_orders.target, "SELECT id, item, is_current FROM orders ORDER BY id, start_date")
    assert [(*row[:2], bool(row[2])) for row in versions] == [
        (1, "tea", True),
        (2, "tea", False),
        (2, "coffee", True),
    ]
    assert plain_orders.tidegate().verify().outcome == "equal"
    assert plain_orders.steps() == []
