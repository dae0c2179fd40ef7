"""Incremental tables: numbers that grow, appended rows, and rows of which a window has several."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from kit.orders import NOW, Orders, connected
from kit.sides import ask, kind_of
from tidegate.changes._incremental import inspect
from tidegate.errors import RunFailed

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

EARLY, LATER = "2024-01-31 10:00:00.000001", "2024-01-31 12:30:00.123456"
SEQUENCE = {"kind": "incremental", "changes": "sequence", "sequence_column": "id", "load": "append"}
INSERT = "INSERT INTO orders VALUES (%s, 'tea', 1, NULL, NULL)"
BY_TIME = {"kind": "incremental", "changes": "timestamp", "timestamp_column": "updated_at"}


def without_key(orders: Orders) -> None:
    """Make a table of orders without a key, so that a number can come twice."""
    orders.in_source("DROP TABLE orders")
    kind = {"mysql": "datetime(6)", "sqlserver": "datetime2(6)"}.get(kind_of(orders.source), "timestamp")
    columns = f"id bigint, item varchar(40), amount numeric(12,2), created_at {kind}, updated_at {kind}"
    orders.in_source(f"CREATE TABLE orders ({columns})")


def insert(orders: Orders, number: int, at: str, item: str) -> None:
    orders.in_source("INSERT INTO orders VALUES (%s, %s, 1, NULL, %s)", number, item, at)


def test_rows_are_appended_by_a_growing_number(orders: Orders):
    """Only greater numbers are read. A number that a rolled-back insert took is harmless."""
    orders.settings = dict(SEQUENCE)
    for number in (1, 2, 5):
        orders.in_source(INSERT, number)
    orders.run()
    orders.assert_equal()
    assert orders.status().watermark == "5"
    orders.in_source(INSERT, 6)
    [extract, load] = orders.run().steps
    assert (extract.rows, load.rows) == (2, 1)
    assert load.why.endswith("changes in the source; 1 inserted")
    orders.assert_equal()


def test_open_insert_holds_the_number(orders: Orders):
    """A number was drawn by a transaction that is open, and a greater one is there: the watermark waits below both."""
    orders.settings = dict(SEQUENCE)
    orders.in_source(INSERT, 1)
    orders.run()
    with orders.transaction() as execute:
        execute(INSERT, 2)
        orders.in_source(INSERT, 3)
        orders.run()
        assert orders.status().watermark == "1"
        assert [row[0] for row in orders.rows(orders.target)] == [1, 3]
        assert orders.steps() == []
    orders.run()
    orders.assert_equal()
    assert orders.status().watermark == "3"


def test_appended_rows_are_never_changed(plain_orders: Orders):
    """A row that was appended and changed in the source since stays as it is in the target."""
    plain_orders.settings["load"] = "append"
    plain_orders.write(1, 2, at=EARLY)
    plain_orders.run()
    plain_orders.write(1, at=LATER, item="changed")
    plain_orders.write(3, at=LATER)
    assert plain_orders.run().steps[-1].why.endswith("1 inserted")
    assert [row[1] for row in plain_orders.rows(plain_orders.target)] == ["tea", "tea", "tea"]


def test_rows_without_key_are_appended_by_content(orders: Orders):
    """Two equal rows of the source are two rows of the target, however often the window is read again."""
    without_key(orders)
    orders.settings = {**BY_TIME, "load": "append"}
    for item in ("tea", "tea", "coffee"):
        insert(orders, 1, EARLY, item)
    orders.run()
    insert(orders, 1, EARLY, "tea")
    assert orders.run().rows_loaded == 1
    counts = ask(orders.target, "SELECT item, count(*) FROM orders GROUP BY item ORDER BY item")
    assert [tuple(row) for row in counts] == [("coffee", 1), ("tea", 3)]
    assert orders.steps() == []
    assert orders.tidegate().verify().outcome == "equal"


def test_newest_of_several_rows_of_a_key_counts(orders: Orders):
    without_key(orders)
    orders.settings = {**BY_TIME, "keys": ["id"]}
    for at, item in ((EARLY, "first"), (LATER, "last"), (EARLY, "first")):
        insert(orders, 1, at, item)
    insert(orders, 2, EARLY, "only")
    assert orders.run().steps[-1].why.endswith("2 inserted, 0 updated, 0 deleted, 2 duplicates")
    assert [row[:2] for row in map(tuple, orders.rows(orders.target))] == [(1, "last"), (2, "only")]


def test_several_rows_of_a_key_can_be_refused(plain_orders: Orders):
    without_key(plain_orders)
    plain_orders.settings = {**BY_TIME, "keys": ["id"], "duplicates": "refuse"}
    insert(plain_orders, 1, EARLY, "first")
    insert(plain_orders, 1, LATER, "last")
    with pytest.raises(RunFailed, match=r"several rows of the window have the same key \(id\): 1"):
        plain_orders.run()


def test_late_rows_are_applied_and_counted(plain_orders: Orders):
    """A row with an old time came after the run, inside of the look-back."""
    plain_orders.write(1, at=LATER)
    plain_orders.run()
    plain_orders.write(2, at="2024-01-31 12:25:00")
    assert plain_orders.run().steps[-1].why.endswith("1 inserted, 0 updated, 0 deleted, 1 late")
    plain_orders.assert_equal()


@pytest.mark.thorough
def test_late_rows_are_warned_of(plain_orders: Orders):
    plain_orders.settings["late"] = "report"
    plain_orders.write(1, at=LATER)
    assert plain_orders.run().findings == ()
    plain_orders.write(2, at="2024-01-31 12:25:00")
    [finding] = plain_orders.run().findings
    assert finding.what.startswith("1 late")
    plain_orders.assert_equal()


LATE = "SELECT record_key, watermark_value, record FROM {late} ORDER BY record_key"


def own(orders: Orders, table: str) -> str:
    return f"tidegate_{table}" if kind_of(orders.target) == "mysql" else f"tidegate.{table}"


@pytest.mark.parametrize("load", ["merge", "append"])
def test_late_rows_wait_in_quarantine(orders: Orders, load: str):
    """A late row stays out of the target, however often it is read again, until the setting lets it in. A row that
    changed late keeps its old content in the target."""
    orders.settings |= {"late": "quarantine", "load": load}
    orders.write(1, 3, at=LATER)
    orders.run()
    orders.write(2, at="2024-01-31 12:25:00", item="late")
    report = orders.run()
    assert "in quarantine" in report.steps[-1].why or report.rows_loaded == 0
    assert report.steps[-1].counts["in quarantine"] == 1
    [finding] = report.findings
    assert finding.severity == "warning" and "late_arriving_data" in finding.what
    [(key, reached, record)] = ask(orders.target, LATE.format(late=own(orders, "late_arriving_data")))
    assert (key, json.loads(str(record))["item"]) == ("[2]", "late") and str(reached).startswith("2024-01-31")
    assert [row[0] for row in orders.rows(orders.target)] == [1, 3]
    verified = orders.tidegate().verify()
    assert verified.outcome == "equal" and any("1 late rows are in quarantine" in one.what for one in verified.findings)
    orders.write(4, at=LATER)
    orders.run()
    assert [row[0] for row in orders.rows(orders.target)] == [1, 3, 4]
    assert len(ask(orders.target, LATE.format(late=own(orders, "late_arriving_data")))) == 1
    orders.in_target("UPDATE orders SET item = 'changed' WHERE id = 1")
    assert orders.tidegate().verify().outcome == "differences", "quarantine hides no other row"
    orders.in_target("UPDATE orders SET item = 'tea' WHERE id = 1")
    orders.settings["late"] = "merge"
    orders.run(reload=True)
    orders.assert_equal()


@pytest.mark.thorough
def test_removed_duplicates_are_kept(plain_orders: Orders):
    """With Tidegate's own tables there, rows that another row of their key displaced are kept in one of them, once."""
    without_key(plain_orders)
    plain_orders.settings = {**BY_TIME, "keys": ["id"]}
    plain_orders.tidegate().create_schema()
    insert(plain_orders, 1, "2024-01-31 12:29:00", "first")
    insert(plain_orders, 1, LATER, "last")
    plain_orders.run()
    plain_orders.in_source("INSERT INTO orders VALUES (2, 'new', 1, NULL, %s)", LATER)
    plain_orders.run()
    asked = "SELECT key_columns, record FROM {}"
    kept = ask(plain_orders.target, asked.format(own(plain_orders, "duplicate_records")))
    assert [(key, json.loads(str(record))["item"]) for key, record in kept] == [("id", "first")]
    asked = "SELECT records_inserted, duplicates_removed FROM {}"
    counted = ask(plain_orders.target, asked.format(own(plain_orders, "incremental_metrics")))
    assert sorted(map(tuple, counted)) == [(1, 1), (1, 1)]


def test_rows_that_left_are_marked(orders: Orders):
    """With `soft_delete` a row that left the source stays with a mark, and loses it when it comes back."""
    orders.settings |= {"deletes": "key_compare", "soft_delete": "is_gone"}
    orders.write(1, 2, 3, at=EARLY)
    orders.run()
    orders.assert_equal()
    orders.in_source("DELETE FROM orders WHERE id IN (2, 3)")
    orders.write(4, at=LATER)
    assert orders.run().steps[-1].counts["deleted"] == 2
    marked = "SELECT id, is_gone FROM orders ORDER BY id"
    assert [(row[0], bool(row[1])) for row in ask(orders.target, marked)] == [
        (1, False),
        (2, True),
        (3, True),
        (4, False),
    ]
    assert orders.tidegate().verify().outcome == "equal"
    assert orders.steps() == []
    orders.write(2, at="2024-01-31 12:31:00", item="back")
    orders.run()
    assert [(row[0], bool(row[1])) for row in ask(orders.target, marked)] == [
        (1, False),
        (2, False),
        (3, True),
        (4, False),
    ]
    assert ask(orders.target, "SELECT item FROM orders WHERE id = 2")[0][0] == "back"
    assert orders.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_mark_must_be_there(plain_orders: Orders):
    """A target that was there before and has no such column: the plan gives the DDL."""
    plain_orders.write(1, at=EARLY)
    plain_orders.run()
    plain_orders.settings |= {"deletes": "key_compare", "soft_delete": "is_gone"}
    [(_, problem)] = plain_orders.tidegate().plan().failures
    assert "has no column is_gone" in problem and "ALTER TABLE" in problem


def test_merge_reads_only_the_keys_of_the_window(plain_orders: Orders):
    """A row that somebody changed in the target, and that did not change in the source, is neither read nor changed."""
    plain_orders.write(1, at="2024-01-01 00:00:00")
    plain_orders.write(2, at=EARLY)
    plain_orders.run()
    plain_orders.in_target("UPDATE orders SET item = 'mine' WHERE id = 1")
    plain_orders.settings["look_back"] = 0
    plain_orders.write(3, at=LATER)
    plain_orders.run()
    assert [row[1] for row in plain_orders.rows(plain_orders.target)] == ["mine", "tea", "tea"]
    assert plain_orders.tidegate().verify().outcome == "differences"


def test_rows_are_read_by_their_transaction(new_orders: Callable[[str, str], Orders]):
    """`changes: xmin` needs no column: inserts and updates are read, also those of a transaction that ends late."""
    orders = new_orders("postgresql", "mysql")
    orders.settings = {"kind": "incremental", "changes": "xmin"}
    orders.in_source("INSERT INTO orders VALUES (1, 'tea', 1, NULL, NULL), (2, 'tea', 1, NULL, NULL)")
    orders.run()
    orders.assert_equal()
    with orders.transaction() as execute:
        execute("UPDATE orders SET item = 'slow' WHERE id = 1")
        orders.in_source("UPDATE orders SET item = 'quick' WHERE id = 2")
        orders.run()
    assert orders.run().steps[-1].why.endswith("0 inserted, 1 updated, 0 deleted")
    orders.assert_equal()
    orders.in_source("VACUUM (FREEZE) orders")
    assert orders.steps() == []


@pytest.mark.thorough
def test_counter_of_another_server_is_refused(plain_orders: Orders):
    plain_orders.settings = {"kind": "incremental", "changes": "rowversion"}
    with pytest.raises(RunFailed, match="has no row versions, which `changes: rowversion` of orders needs"):
        plain_orders.run()


def test_completeness_has_a_tolerance(plain_orders: Orders):
    """Rows that somebody added to the target count. A difference equal to the tolerance is complete."""
    plain_orders.settings |= {"check": ["completeness", "gaps"], "completeness_tolerance": 50}
    plain_orders.write(1, 2, at=EARLY)
    plain_orders.run()
    assert plain_orders.tidegate().verify().findings == ()
    plain_orders.in_target("INSERT INTO orders VALUES (8, 'mine', 1, NULL, NULL)")
    assert [finding.severity for finding in plain_orders.tidegate().verify().findings] == ["note"]
    plain_orders.in_target("INSERT INTO orders VALUES (9, 'mine', 1, NULL, NULL)")
    report = plain_orders.tidegate().verify()
    assert (report.outcome, report.exit_code) == ("differences", 3)
    assert "4 rows in the target, 2 in the source: 100.000 % off, 50 % are allowed" in report.findings[0].what


def test_page_shows_a_table_over_time(plain_orders: Orders):
    """Each load is a point with its watermark, its rows, and what came late."""
    plain_orders.write(1, 2, at=EARLY)
    plain_orders.run()
    plain_orders.write(3, at=LATER)
    plain_orders.run()
    plain_orders.write(4, at="2024-01-31 12:25:00")
    plain_orders.run()
    [table] = plain_orders.tidegate().facts()["tables"]
    points = [(point["watermark"], point["rows"], point["late"], point["gaps"]) for point in table["over_time"]]
    assert points == [(EARLY, 2, 0, 0), (LATER, 1, 0, 0), (LATER, 1, 1, 0)]


def test_number_below_the_first_row_may_still_come(plain_orders: Orders):
    """The first number of all was drawn by a transaction that is open while the second is read."""
    plain_orders.settings = dict(SEQUENCE)
    with plain_orders.transaction() as execute:
        execute(INSERT, 1)
        plain_orders.in_source(INSERT, 2)
        plain_orders.run()
        assert [row[0] for row in plain_orders.rows(plain_orders.target)] == [2]
    plain_orders.run()
    plain_orders.assert_equal()


def test_number_after_a_deleted_row_may_still_come(plain_orders: Orders):
    """The row of the watermark left the source. The number behind it was drawn by a transaction that is open."""
    plain_orders.settings = dict(SEQUENCE)
    for number in (4, 5):
        plain_orders.in_source(INSERT, number)
    plain_orders.run()
    plain_orders.in_source("DELETE FROM orders WHERE id = 5")
    with plain_orders.transaction() as execute:
        execute(INSERT, 6)
        plain_orders.in_source(INSERT, 7)
        plain_orders.run()
        assert plain_orders.status().watermark == "5"
    plain_orders.run()
    assert [row[0] for row in plain_orders.rows(plain_orders.target)] == [4, 5, 6, 7]


def test_rolled_back_number_holds_once_while_others_write(orders: Orders):
    """Somebody always writes. A number is missing; whoever began after it was seen to be missing cannot bring it."""
    orders.settings = dict(SEQUENCE)
    for number in (1, 2, 4):
        orders.in_source(INSERT, number)
    with orders.transaction() as execute:
        execute(INSERT, 5)
        orders.run()
        assert orders.status().watermark == "2"
    orders.in_source(INSERT, 6)
    time.sleep(1.2)
    with orders.transaction() as execute:
        execute(INSERT, 8)
        orders.in_source(INSERT, 9)
        orders.run()
        assert orders.status().watermark == "6"
    orders.run()
    orders.assert_equal()
    assert orders.status().watermark == "9"


def test_row_without_time_takes_the_place_of_another(plain_orders: Orders):
    """As many rows without a cursor value left as came: the one that came is read all the same."""
    plain_orders.settings["null_cursor"] = "once"
    plain_orders.write(1, at=EARLY)
    plain_orders.in_source(INSERT, 5)
    plain_orders.run()
    plain_orders.in_source("DELETE FROM orders WHERE id = 5")
    plain_orders.in_source(INSERT, 6)
    plain_orders.run()
    assert [row[0] for row in plain_orders.rows(plain_orders.target)] == [1, 5, 6]


def test_replaced_table_notices_deleted_rows(plain_orders: Orders):
    """With `load: replace` the target has the source's rows, also when nothing but a delete happened."""
    plain_orders.settings["load"] = "replace"
    plain_orders.write(1, 2, at="2024-01-01 00:00:00")
    plain_orders.write(3, at=LATER)
    plain_orders.run()
    plain_orders.in_source("DELETE FROM orders WHERE id = 1")
    [extract, _] = plain_orders.run().steps
    assert extract.why == "the source has 2 rows, 3 were loaded"
    plain_orders.assert_equal()


BLOCKS = "ALTER TABLE orders ALTER id ADD GENERATED BY DEFAULT AS IDENTITY (CACHE 50)"
NEXT = "INSERT INTO orders (item, amount) VALUES ('tea', 1)"


def test_block_of_numbers_is_used_up_later(plain_orders: Orders):
    """A session drew the numbers 1 to 50 and used one. Others wrote greater ones, which were read. Then it goes on."""
    plain_orders.settings = dict(SEQUENCE)
    plain_orders.in_source(BLOCKS)
    with closing(connected(plain_orders.source)) as slow:
        slow.execute(NEXT)
        slow.commit()
        plain_orders.in_source(NEXT)
        plain_orders.run()
        assert "numbers of id in blocks of 50" in plain_orders.notices()
        assert plain_orders.status().watermark == "51"
        slow.execute(NEXT)
        slow.commit()
    plain_orders.run()
    assert [row[0] for row in plain_orders.rows(plain_orders.target)] == [1, 2, 51]
    plain_orders.assert_equal()


@pytest.fixture
def driver_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let the clock of this machine go ahead by seconds: for a run that is as if the source's were set back."""

    def go_ahead(seconds: int) -> None:
        class Ahead(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Ahead:
                return super().now(tz) + timedelta(seconds=seconds)

        monkeypatch.setattr(inspect, "datetime", Ahead)

    return go_ahead


@pytest.mark.parametrize("source", ["postgresql", "mysql"])
def test_rows_from_before_the_clock_was_set_back_are_read(
    source: str, new_orders: Callable[[str, str], Orders], driver_clock: Callable[[int], None]
):
    """Half an hour went by here and none there: the source's clock was set back. A row has a time from before the
    watermark, beyond the look-back."""
    orders = new_orders(source, "postgresql")
    orders.insert_now(1)
    orders.run()
    half_hour = "interval '20 minutes'" if source == "postgresql" else "INTERVAL 20 MINUTE"
    earlier = f"({NOW[source]} - {half_hour})"
    orders.in_source(f"INSERT INTO orders SELECT 2, 'tea', 1, NULL, {earlier}")
    assert orders.steps() == []
    driver_clock(1800)
    report = orders.run()
    assert "the source's clock was set back by" in report.steps[0].why
    assert [row[0] for row in orders.rows(orders.target)] == [1, 2]
    assert orders.steps() == []


def test_key_that_changed_is_one_row(orders: Orders):
    """With `deletes: key_compare` the row leaves under its old key and comes under its new one."""
    orders.settings["deletes"] = "key_compare"
    orders.write(1, 2, at=EARLY)
    orders.run()
    orders.in_source("UPDATE orders SET id = 7, updated_at = %s WHERE id = 2", LATER)
    assert orders.run().steps[-1].why.endswith("1 inserted, 0 updated, 1 deleted")
    orders.assert_equal()


def test_change_without_its_time_is_found(plain_orders: Orders):
    """A row changed and its cursor did not: no run reads it, `verify` finds it, and a reload brings it."""
    plain_orders.write(1, at="2024-01-01 00:00:00")
    plain_orders.write(2, at=LATER)
    plain_orders.run()
    plain_orders.in_source("UPDATE orders SET item = 'in silence' WHERE id = 1")
    assert plain_orders.steps() == []
    assert plain_orders.tidegate().verify().outcome == "differences"
    plain_orders.run(reload=True)
    plain_orders.assert_equal()


def test_cursor_without_an_index_is_said(plain_orders: Orders):
    plain_orders.settings["timestamp_column"] = "created_at"
    plain_orders.write(1, at=EARLY)
    assert "no index of the source starts with created_at: every run scans the table" in plain_orders.notices()


def test_text_is_no_cursor(plain_orders: Orders):
    plain_orders.settings["timestamp_column"] = "item"
    [(_, problem)] = plain_orders.tidegate().plan().failures
    assert "cannot be a cursor of `changes: hybrid`" in problem and "a date or timestamp type" in problem


def test_duplicates_are_a_check(plain_orders: Orders):
    """Two rows of a key in the source are a warning, in the target an error."""
    without_key(plain_orders)
    plain_orders.settings = {**BY_TIME, "keys": ["id"], "check": "duplicates"}
    for number, item in ((1, "first"), (1, "second"), (2, "only")):
        insert(plain_orders, number, EARLY, item)
    plain_orders.run()
    report = plain_orders.tidegate().verify()
    [finding] = report.findings
    assert (report.outcome, finding.severity) == ("equal", "warning")
    assert finding.what == "1 key (id) with several rows in the source: 2 rows"
    plain_orders.in_target("INSERT INTO orders VALUES (2, 'mine', 1, NULL, NULL)")
    report = plain_orders.tidegate().verify()
    assert (report.outcome, report.exit_code) == ("differences", 3)
    assert report.findings[1].what == "1 key (id) with several rows in the target: 2 rows"
