"""`IncrementalLoadManager` as its users type it: watermarks, extraction, consistency, loads, events and queries."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars
import pyarrow as pa
import pytest
import sqlalchemy

from kit import sides
from kit.pairs import first_daily
from kit.project import database_on
from tidegate import IncrementalLoadManager
from tidegate.errors import ConfigError, DriftStop, FeedLost, MissingObject, Unsupported, ValueProblem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

PAGE = Path(__file__).parents[2] / "docs" / "incremental-load-manager.md"
MOMENT = {"postgresql": "timestamp(6)", "mysql": "datetime(6)"}
START = datetime(2024, 1, 15)
KINDS = ["postgresql", "mysql"]
MOSTLY_ONE = first_daily(*KINDS)


@dataclass
class Place:
    """A database with events, transactions, customers and orders, and a manager of it."""

    url: str = field(repr=False)
    spark: SparkSession = field(repr=False)
    manager: IncrementalLoadManager = field(init=False)

    def __post_init__(self) -> None:
        self.manager = self.new()
        self.do(f"CREATE TABLE user_events (event_id int PRIMARY KEY, event_time {MOMENT[self.kind]}, v varchar(20))")
        self.do("CREATE TABLE transactions (transaction_id int PRIMARY KEY, amount decimal(38,18))")
        self.do("CREATE TABLE customer_data (customer_id int PRIMARY KEY, name varchar(20))")
        self.do("CREATE TABLE sales_orders (order_id int PRIMARY KEY, region varchar(9), order_date date)")
        with sides.opened(self.url) as witness:
            events = [(number, START + timedelta(minutes=number), "v") for number in range(1, 61)]
            witness.do_many("INSERT INTO user_events VALUES (%s, %s, %s)", events)
            amounts = [(number, Decimal("0.000000000000000001") * number) for number in (*range(1, 21), *range(24, 31))]
            witness.do_many("INSERT INTO transactions VALUES (%s, %s)", amounts)

    @property
    def kind(self) -> str:
        return sides.kind_of(self.url)

    def new(self, *arguments: Any, **settings: Any) -> IncrementalLoadManager:
        return IncrementalLoadManager(self.url, *arguments, spark=self.spark, **settings)

    def do(self, statement: str, *values: object) -> None:
        sides.do(self.url, statement, *values)

    def ask(self, statement: str) -> list[Any]:
        return sides.ask(self.url, statement)

    def own(self, table: str) -> str:
        return f"tidegate.{table}" if self.kind == "postgresql" else f"tidegate_{table}"


@pytest.fixture(scope="module")
def place(
    postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Place]]:
    """One database of each kind for all tests of this file: each test writes tables of its own."""
    servers: dict[str, Any] = {"mysql": mariadb, "postgresql": postgres}
    made: dict[str, Place] = {}
    with ExitStack() as opened:

        def of(kind: str = "postgresql") -> Place:
            if kind not in made:
                made[kind] = Place(opened.enter_context(database_on(servers[kind])), spark)
            return made[kind]

        yield of


def test_every_documented_method_has_its_parameters():
    """The names and the order that users of the class know."""
    for line in METHODS.strip().splitlines():
        name, _, arguments = line.partition("(")
        expected = [argument.strip() for argument in arguments.rstrip(")").split(",")]
        parameters = list(inspect.signature(getattr(IncrementalLoadManager, name)).parameters)[1:]
        assert parameters[: len(expected)] == expected, name


@pytest.mark.parametrize("kind", KINDS)
def test_morning_of_new_events(place: Callable[[str], Place], kind: str):
    """Watermark, extraction, late rows, an upsert with its watermark, and the same again: nothing changes."""
    db, manager = place(kind), place(kind).manager
    assert manager.get_last_watermark("sales", "events") is None
    manager.update_watermark("sales", "events", "2024-01-15T00:20:00", "event_time", "timestamp")
    watermark = manager.get_last_watermark("sales", "events")
    assert watermark is not None
    assert (watermark.watermark_value, watermark.watermark_column) == ("2024-01-15T00:20:00", "event_time")
    config = {"incremental_strategy": "timestamp", "table": "user_events", "timestamp_column": "event_time"}
    data = manager.extract_incremental_data(config, watermark)
    assert sorted(data["event_id"]) == list(range(21, 61))
    on_time, late_count = manager.handle_late_arriving_data(data, "event_time", watermark.watermark_value)
    assert (len(on_time), late_count) == (40, 0)
    reached = manager.update_watermark("sales", "events", START + timedelta(minutes=60), "event_time")
    first = manager.merge_incremental_load("target_events", on_time, ["event_id"], "upsert", watermark=reached)
    assert (first.records_inserted, first["records_updated"], first.watermark_after) == (40, 0, "2024-01-15T01:00:00")
    again = manager.merge_incremental_load(target_table="target_events", data=on_time, merge_keys=["event_id"])
    assert (again.records_written, again.records_unchanged) == (0, 40)
    on_time.loc[0, "v"] = "changed"
    third = manager.merge_incremental_load("target_events", on_time, ["event_id"])
    assert (third.records_inserted, third.records_updated) == (0, 1)
    expected = {(number, START + timedelta(minutes=number)) for number in range(21, 61)}
    assert {row[:2] for row in db.ask("SELECT event_id, event_time, v FROM target_events")} == expected
    moved = manager.get_last_watermark("sales", "events")
    assert moved is not None
    assert (moved.watermark_value, moved.load_id) == (START + timedelta(minutes=60), first.load_id)


@pytest.mark.parametrize("kind", MOSTLY_ONE)
def test_sequence_keeps_every_digit_and_notes_gaps(place: Callable[[str], Place], kind: str):
    db, manager = place(kind), place(kind).manager
    config = {"incremental_strategy": "sequence", "table": "transactions", "sequence_column": "transaction_id"}
    watermark = manager.update_watermark("sales", "transactions", 5, "transaction_id", "sequence")
    data = manager.extract_incremental_data(config, watermark)
    assert list(data["transaction_id"]) == [*range(6, 21), *range(24, 31)]
    manager.merge_incremental_load("copied", data, ["transaction_id"])
    original = "SELECT transaction_id, amount FROM {} WHERE transaction_id > 5 ORDER BY 1"
    assert db.ask(original.format("copied")) == db.ask(original.format("transactions"))
    found = db.ask(
        f"SELECT first_missing, last_missing, missing_count FROM {db.own('data_gaps')}"  # noqa: S608 - our name
        " WHERE source_id = 'transactions'"
    )
    assert found == [("21", "23", 3)]


@pytest.mark.parametrize("kind", MOSTLY_ONE)
def test_versions_keep_their_place_in_time(place: Callable[[str], Place], kind: str):
    """A first load, the same again, a change, and a backdated correction."""
    db, manager = place(kind), place(kind).manager
    scd = pd.DataFrame({"customer_id": [1, 2, 3], "name": ["Alice", "Bob", None], "effective_date": ["2024-01-15"] * 3})

    def load(frame: pd.DataFrame) -> tuple[int, int]:
        metrics = manager.implement_scd_type2("customer_scd", frame, "customer_id", "effective_date")
        return metrics.records_inserted, metrics.records_updated

    assert load(scd) == (3, 0)
    assert load(scd) == (0, 0)
    later = scd.assign(effective_date="2024-03-01", name=["Alice", "Robert", None])
    assert load(later) == (1, 1)
    between = pd.DataFrame({"customer_id": [2], "name": ["Rob"], "effective_date": ["2024-02-01"]})
    corrected = manager.handle_data_corrections("customer_scd", between, ["customer_id"], "effective_date")
    assert (corrected.records_inserted, corrected.records_updated) == (1, 1)
    rows = db.ask("SELECT customer_id, name, effective_date, end_date, is_current FROM customer_scd ORDER BY 1, 3")
    january, february, march = date(2024, 1, 15), date(2024, 2, 1), date(2024, 3, 1)
    assert rows == [
        (1, "Alice", january, None, 1),
        (2, "Bob", january, february, 0),
        (2, "Rob", february, march, 0),
        (2, "Robert", march, None, 1),
        (3, None, january, None, 1),
    ]
    kept = db.ask(f'SELECT version FROM {db.own("scd_history")} WHERE business_key = \'{{"customer_id":"1"}}\'')  # noqa: S608
    assert kept == [
        ('{"customer_id":"1","name":"Alice","effective_date":"2024-01-15","end_date":null,"is_current":"true"}',)
    ]


@pytest.mark.parametrize("kind", MOSTLY_ONE)
def test_last_event_of_each_key_counts(place: Callable[[str], Place], kind: str):
    db, manager = place(kind), place(kind).manager
    config = {"cdc_type": "api_based", "table": "customer_data", "primary_key": "customer_id"}
    events = [
        {"operation": "insert", "lsn": "0x09", "data": {"customer_id": 1, "name": "first"}},
        {"operation": "update", "lsn": "0x0A", "data": {"customer_id": 1, "name": "second"}},
        {"operation": "insert", "lsn": "0x0B", "data": {"customer_id": 2, "name": "gone"}},
        {"operation": "delete", "lsn": "0x0C", "data": {"customer_id": 2}},
    ]
    assert manager.configure_cdc_source(config)["primary_key"] == ["customer_id"]
    stream = manager.read_cdc_stream({**config, "events": events}, from_lsn="0x08")
    assert list(stream["log_position"]) == ["0x09", "0x0A", "0x0B", "0x0C"]
    assert list(manager.read_cdc_stream(config, from_lsn="0xa")["operation"]) == ["insert", "delete"]
    first = manager.apply_cdc_changes("target_customers", stream)
    assert (first.records_inserted, first.records_deleted) == (1, 0)
    late = [{"operation": "update", "lsn": "0x01", "data": {"customer_id": 1, "name": "old"}}]
    assert manager.apply_cdc_changes("target_customers", late, "customer_id").records_written == 0
    assert db.ask("SELECT customer_id, name FROM target_customers") == [(1, "second")]
    gone = [{"op": "d", "lsn": "0x0D", "key": 1}]
    assert manager.apply_cdc_changes("target_customers", gone, "customer_id").records_deleted == 1
    assert db.ask("SELECT * FROM target_customers") == []


def test_events_of_a_table_that_triggers_fill(place: Callable[[str], Place]):
    db, manager = place("postgresql"), place("postgresql").manager
    db.do("CREATE TABLE customer_log (seq bigint PRIMARY KEY, op varchar(1), customer_id int, name varchar(20))")
    db.do("INSERT INTO customer_log VALUES (1, 'I', 7, 'a'), (2, 'U', 7, 'b'), (3, 'I', 8, 'c')")
    config = {
        "cdc_type": "trigger_based",
        "table": "customer_data",
        "event_table": "customer_log",
        "operation_column": "op",
        "position_column": "seq",
    }
    assert manager.configure_cdc_source(config)["primary_key"] == ["customer_id"]
    events = manager.read_cdc_stream(config, from_lsn=1)
    manager.apply_cdc_changes("logged_customers", events, "customer_id")
    assert db.ask("SELECT customer_id, name FROM logged_customers ORDER BY 1") == [(7, "b"), (8, "c")]


@pytest.mark.thorough
def test_events_of_the_databases_log(place: Callable[[str], Place]):
    """What the document does: configure, read from a position, apply. Events stay in CDC_EVENTS, each once."""
    db, manager = place("postgresql"), place("postgresql").manager
    db.do("CREATE TABLE logged (id int PRIMARY KEY, name text, at timestamptz, amount numeric(9,2), is_on boolean)")
    config = {"cdc_type": "log_based", "table": "logged", "primary_key": "id"}
    made = manager.configure_cdc_source(config)
    try:
        assert any("pg_create_logical_replication_slot" in statement for statement in made["statements"])
        assert list(manager.read_cdc_stream(config)["operation"]) == []
        db.do("INSERT INTO logged VALUES (1, 'a', '2024-01-31 10:00+01', 1.5, true), (2, NULL, NULL, NULL, false)")
        db.do("UPDATE logged SET id = 3 WHERE id = 1")
        db.do("DELETE FROM logged WHERE id = 2")
        events = manager.read_cdc_stream(config)
        assert list(events["operation"]) == ["insert", "insert", "delete", "insert", "delete"]
        manager.apply_cdc_changes("applied", events)
        assert db.ask("SELECT * FROM applied") == db.ask("SELECT * FROM logged") != []
        again = manager.read_cdc_stream(config, from_lsn=events["log_position"][1])
        assert list(again["log_position"]) == list(events["log_position"][2:])
        assert manager.apply_cdc_changes("applied", events).records_written == 0
        assert list(manager.read_cdc_stream({**config, "keep_days": 0})["operation"]) == []
    finally:
        db.do("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")


@pytest.mark.thorough
def test_events_of_the_binary_log(logging_mariadb: MariaDb, spark: SparkSession):
    """The server keeps no place: a watermark does. A call that was killed before it was written keeps nothing twice."""
    with database_on(logging_mariadb) as url:
        db = Place(url, spark)
        manager = db.manager
        db.do("CREATE TABLE logged (id int PRIMARY KEY, name varchar(20), at datetime(6), amount decimal(9,2))")
        config = {"cdc_type": "log_based", "table": "logged", "primary_key": "id"}
        with pytest.raises(MissingObject, match="nobody said from where"):
            manager.read_cdc_stream(config)
        assert manager.configure_cdc_source(config)["statements"] == []
        began = manager.get_last_watermark("cdc", "logged")
        assert list(manager.read_cdc_stream(config)["operation"]) == []
        db.do("INSERT INTO logged VALUES (1, 'a', '2024-01-31 10:00:00.5', 1.5), (2, NULL, NULL, NULL)")
        manager.configure_cdc_source(config)
        db.do("UPDATE logged SET id = 3 WHERE id = 1")
        db.do("DELETE FROM logged WHERE id = 2")
        events = manager.read_cdc_stream(config)
        assert list(events["operation"]) == ["insert", "insert", "delete", "insert", "delete"]
        manager.apply_cdc_changes("applied", events)
        assert db.ask("SELECT * FROM applied") == db.ask("SELECT * FROM logged") != []
        manager.update_watermark("cdc", "logged", began.watermark_value, began.watermark_column, "cdc")
        again = manager.read_cdc_stream(config, from_lsn=events["log_position"][1])
        assert list(again["log_position"]) == list(events["log_position"][2:])
        db.do("RESET MASTER")
        with pytest.raises(FeedLost, match="resync: True"):
            manager.read_cdc_stream(config)
        manager.configure_cdc_source(config)
        with pytest.raises(FeedLost):
            manager.read_cdc_stream(config)
        manager.configure_cdc_source({**config, "resync": True})
        db.do("INSERT INTO logged VALUES (9, 'since', NULL, NULL)")
        since = manager.read_cdc_stream(config, from_lsn=events["log_position"].iloc[-1])
        assert list(since["operation"]) == ["insert"]
        manager.apply_cdc_changes("applied", since)
        assert db.ask("SELECT id FROM applied ORDER BY id") == [(3,), (9,)]


def test_late_rows_are_kept_apart_once(place: Callable[[str], Place]):
    db, manager = place("postgresql"), place("postgresql").manager
    data = pd.DataFrame({"id": [1, 2, 3, 4], "at": pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-01-03"])})
    for _ in range(2):
        on_time, late = manager.handle_late_arriving_data(data, "at", "2024-01-02", "sales", "late")
        assert (list(on_time["id"]), late) == ([2, 3, 4], 1)
    kept = db.ask("SELECT record, reason FROM tidegate.late_arriving_data WHERE source_id = 'late'")
    assert [row[0] for row in kept] == ['{"id":"1","at":"2024-01-01 00:00:00"}']
    merged, late = manager.handle_late_arriving_data(data, "at", "2024-01-02", late="merge")
    assert (len(merged), late) == (4, 1)


def test_removed_duplicates_are_kept_with_their_rule(place: Callable[[str], Place]):
    db, manager = place("postgresql"), place("postgresql").manager
    data = pd.DataFrame({"k": [1, 1, 2, None, None], "v": ["a", "b", "c", "d", "e"]})
    clean, removed = manager.deduplicate_data(data, key_columns=["k"], pipeline_id="sales", source_id="dup")
    assert (list(clean["v"]), removed) == (["b", "c", "d", "e"], 1)
    first, _ = manager.deduplicate_data(data, ["k"], keep="first")
    assert list(first["v"]) == ["a", "c", "d", "e"]
    newest, _ = manager.deduplicate_data(data.assign(at=[9, 1, 1, 1, 1]), ["k"], order_by="at")
    assert list(newest["v"]) == ["a", "c", "d", "e"]
    kept = db.ask("SELECT record, rule FROM tidegate.duplicate_records WHERE source_id = 'dup'")
    assert kept == [('{"k":"1.0","v":"a"}', "latest by position")]


def test_duplicates_of_a_load_are_removed_or_refused(place: Callable[[str], Place]):
    db = place("postgresql")
    data = pd.DataFrame({"id": [1, 1], "v": ["old", "new"]})
    done = db.manager.merge_incremental_load("one_of_two", data, ["id"])
    assert (done.records_extracted, done.duplicates_removed, done.records_inserted) == (2, 1, 1)
    assert db.ask("SELECT v FROM one_of_two") == [("new",)]
    with pytest.raises(ValueProblem, match="not unique in the frame"):
        db.new(config={"enable_duplicate_handling": False}).merge_incremental_load("one_of_two", data, ["id"])
    assert db.ask("SELECT v FROM one_of_two") == [("new",)]


def test_gaps_between_loads_and_in_days_are_settled(place: Callable[[str], Place]):
    db, manager = place("postgresql"), place("postgresql").manager
    days = pd.DataFrame({"day": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 5)]})
    [gap] = manager.detect_data_gaps("sales", "days", "day", data=days)
    assert (gap["first_missing"], gap["last_missing"], gap["missing_count"]) == ("2024-01-03", "2024-01-04", 2)
    assert manager.detect_data_gaps("sales", "days", "day") == []
    assert db.ask("SELECT status FROM tidegate.data_gaps WHERE source_id = 'days'") == [("settled",)]
    far = pd.DataFrame({"n": [-1, 0, 1, (1 << 20) - 1, 1 << 20, (1 << 21) + 5]})
    found = manager.detect_data_gaps("sales", "far", "n", data=far)
    assert [(gap["first_missing"], gap["last_missing"]) for gap in found] == [
        ("2", str((1 << 20) - 2)),
        (str((1 << 20) + 1), str((1 << 21) + 4)),
    ]
    row = pd.DataFrame({"id": [1]})
    for value in (10, 20):
        mark = manager.update_watermark("sales", "windows", value, "id", "sequence")
        manager.merge_incremental_load("windowed", row, ["id"], watermark=mark)
    db.do("UPDATE tidegate.incremental_metrics SET watermark_before = '15' WHERE watermark_after = '20'")
    db.do("UPDATE tidegate.incremental_metrics SET watermark_before = '1' WHERE watermark_after = '10'")
    [gap] = manager.detect_data_gaps("sales", "windows", "id")
    assert (gap["gap_type"], gap["first_missing"], gap["last_missing"]) == ("window", "10", "15")


def test_completeness_within_tolerance_is_complete(place: Callable[[str], Place]):
    verdict = place("postgresql").manager.validate_incremental_completeness
    assert verdict(expected_count=1000, actual_count=950, tolerance_percent=5.0) == {
        "expected_count": 1000,
        "actual_count": 950,
        "difference": 50,
        "difference_percent": 5.0,
        "tolerance_percent": 5.0,
        "is_complete": True,
    }
    assert not verdict(1000, 949, 5.0)["is_complete"]
    assert not verdict(1000, 1051, 5.0)["is_complete"]
    assert not verdict(0, 1)["is_complete"]
    assert verdict(0, 0)["is_complete"]


def test_append_adds_nothing_twice_and_replace_replaces(place: Callable[[str], Place]):
    db, manager = place("postgresql"), place("postgresql").manager
    data = pd.DataFrame({"a": [1, 1, None], "b": ["x", "x", None]})
    assert manager.merge_incremental_load("plain_log", data, load_type="append").records_inserted == 2
    assert manager.merge_incremental_load("plain_log", data, load_type="append").records_inserted == 0
    keyed = pd.DataFrame({"id": [1, 2], "v": ["a", "b"]})
    manager.merge_incremental_load("keyed", keyed, ["id"], "append")
    changed = pd.DataFrame({"id": [2, 3], "v": ["other", "c"]})
    assert manager.merge_incremental_load("keyed", changed, ["id"], "append").records_inserted == 1
    assert db.ask("SELECT id, v FROM keyed ORDER BY 1") == [(1, "a"), (2, "b"), (3, "c")]
    replaced = manager.merge_incremental_load("keyed", changed, ["id"], "replace")
    assert (replaced.records_inserted, replaced.records_deleted) == (2, 3)
    assert db.ask("SELECT id, v FROM keyed ORDER BY 1") == [(2, "other"), (3, "c")]


def test_repeated_load_id_does_nothing(place: Callable[[str], Place]):
    """A job that was killed after its commit hands the same load in again."""
    db, manager = place("postgresql"), place("postgresql").manager
    data = pd.DataFrame({"id": [1], "v": ["a"]})
    first = manager.merge_incremental_load("once", data, ["id"], load_id="load-of-monday")
    db.do("UPDATE once SET v = 'by hand'")
    again = manager.merge_incremental_load("once", data, ["id"], load_id="load-of-monday")
    assert again == first
    assert db.ask("SELECT v FROM once") == [("by hand",)]
    newest = manager.get_incremental_metrics(last=500)
    assert [row.records_inserted for row in newest if row.load_id == "load-of-monday"] == [1]


def test_values_that_would_change_are_refused(place: Callable[[str], Place]):
    db, manager = place("postgresql"), place("postgresql").manager
    db.do(
        "CREATE TABLE strict (id int PRIMARY KEY, n int, d decimal(9,2), t timestamp(0), g int GENERATED ALWAYS AS"
        " (id + 1) STORED)"
    )
    good = pd.DataFrame({"id": [1], "n": [2], "d": [Decimal("1.50")], "t": [datetime(2024, 1, 1)]})
    assert manager.merge_incremental_load("strict", good, ["id"]).records_inserted == 1
    assert manager.merge_incremental_load("strict", good, ["id"]).records_unchanged == 1
    for column, value in (("n", 1 << 40), ("n", 1.5), ("d", 0.123), ("t", "no time")):
        with pytest.raises(ValueProblem, match=column):
            manager.merge_incremental_load("strict", good.assign(**{column: [value]}), ["id"])
    with pytest.raises(ConfigError, match="several columns n"):
        manager.merge_incremental_load("strict", pd.DataFrame([[1, 2, 3]], columns=["id", "n", "n"]), ["id"])
    with pytest.raises(DriftStop, match="computes g"):
        manager.merge_incremental_load("strict", good.assign(g=3), ["id"])
    with pytest.raises(ValueProblem, match="no value for the key"):
        manager.merge_incremental_load("strict", pd.DataFrame({"id": [None], "n": [1]}).astype("Int64"), ["id"])
    assert db.ask("SELECT id, n, d FROM strict") == [(1, 2, Decimal("1.50"))]


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_comes_and_goes_unchanged(place: Callable[[str], Place], kind: str):
    """Out of a table, through pandas and Spark, into a table of the same columns and into one that is created."""
    db, (create, insert) = place(kind), EVERY_TYPE[kind]
    db.do(create.format("every"))
    db.do(create.format("same"))
    db.do(insert)
    config = {"incremental_strategy": "sequence", "table": "every", "sequence_column": "id"}
    data = db.manager.extract_incremental_data(config)
    for target in ("same", "made"):
        assert db.manager.merge_incremental_load(target, data, ["id"]).records_inserted == len(data)
        assert db.manager.merge_incremental_load(target, data, ["id"]).records_written == 0
    assert db.ask("SELECT * FROM same ORDER BY id") == db.ask("SELECT * FROM every ORDER BY id")
    again = db.manager.extract_incremental_data({**config, "table": "made"})
    assert again["id"].tolist() == data["id"].tolist()
    pd.testing.assert_frame_equal(again[["d", "n", "ts", "tx"]], data[["d", "n", "ts", "tx"]])


@pytest.mark.thorough
def test_frames_without_rows_or_columns(place: Callable[[str], Place]):
    """An empty frame creates no table, and still moves the watermark; a column that is missing is named."""
    db, manager = place("postgresql"), place("postgresql").manager
    empty = pd.DataFrame({"id": [], "v": []})
    mark = manager.update_watermark("sales", "empty", 5, "id", "sequence")
    done = manager.merge_incremental_load("never_made", empty, ["id"], watermark=mark)
    assert (done.records_extracted, done.watermark_after, done.status) == (0, "5", "done")
    assert manager.implement_scd_type2("never_made", empty, "id", "v").records_written == 0
    assert db.ask("SELECT to_regclass('never_made')") == [(None,)]
    assert manager.get_last_watermark("sales", "empty").load_id == done.load_id  # type: ignore[union-attr]
    for call in (
        lambda: manager.deduplicate_data(empty, ["id", "other"]),
        lambda: manager.handle_late_arriving_data(empty, "other", 1),
        lambda: manager.detect_data_gaps("sales", "empty", "other", data=empty),
        lambda: manager.merge_incremental_load("never_made", pd.DataFrame({"id": [1]}), ["other"]),
    ):
        with pytest.raises(ConfigError, match="no column other"):
            call()


@pytest.mark.thorough
def test_frames_of_every_kind_come_and_go(place: Callable[[str], Place]):
    db = place("postgresql")
    rows = [{"id": 1, "v": "a", "n": 5}, {"id": 2, "v": None, "n": None}]
    given = [
        rows,
        pa.Table.from_pylist(rows),
        polars.DataFrame(rows),
        db.spark.createDataFrame(pa.Table.from_pylist(rows)),
    ]
    for number, data in enumerate(given):
        done = db.manager.merge_incremental_load("kinds", data, ["id"])
        assert done.records_inserted == (0 if number else 2)
    config = {"table": "kinds", "incremental_strategy": "sequence", "sequence_column": "id"}
    assert db.new("arrow").extract_incremental_data(config).to_pylist() == rows
    assert db.new("polars").extract_incremental_data(config).to_dicts() == rows
    assert db.new("spark").extract_incremental_data(config).count() == 2
    frame = db.manager.extract_incremental_data(config)
    assert str(frame["n"].dtype) == "Int32" or str(frame["n"].dtype) == "Int64"
    with pytest.raises(ConfigError, match="Did you mean `pandas`"):
        db.new("panda")


@pytest.mark.thorough
def test_connections_of_other_libraries_are_taken(place: Callable[[str], Place]):
    import psycopg
    import pymysql

    for kind in KINDS:
        db = place(kind)
        driver = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}[kind]
        engine = sqlalchemy.create_engine(db.url.replace(f"{kind}://", f"{driver}://"))
        expected = IncrementalLoadManager(db.url, spark=db.spark).get_incremental_metrics(last=1)
        with engine.connect() as connection:
            dbapi = connection.connection.dbapi_connection
            assert isinstance(dbapi, (psycopg.Connection, pymysql.connections.Connection))
            for given in (engine, connection, dbapi):
                manager = IncrementalLoadManager(given, spark=db.spark)
                assert manager.get_incremental_metrics(last=1) == expected
        engine.dispose()
    with pytest.raises(Unsupported, match="Pass a URL"):
        IncrementalLoadManager(object())


@pytest.mark.thorough
def test_hybrid_pairs_and_other_strategies(place: Callable[[str], Place]):
    db, manager = place("postgresql"), place("postgresql").manager
    db.do("CREATE TABLE pairs (id int PRIMARY KEY, at timestamp(6), day date)")
    db.do(
        "INSERT INTO pairs SELECT n, timestamp '2024-01-01' + (n / 4) * interval '1 day', date '2024-01-01' + n / 4"
        " FROM generate_series(0, 11) AS n"
    )
    hybrid = {"incremental_strategy": "hybrid", "table": "pairs", "timestamp_column": "at", "id_column": "id"}
    mark = manager.update_watermark("sales", "pairs", (datetime(2024, 1, 2), 5), "at", "hybrid")
    assert manager.get_last_watermark("sales", "pairs") == mark
    assert sorted(manager.extract_incremental_data(hybrid, mark)["id"]) == [6, 7, 8, 9, 10, 11]
    back = {"incremental_strategy": "sequence", "table": "pairs", "sequence_column": "id", "look_back": 2}
    mark = manager.update_watermark("sales", "pairs", 10, "id", "sequence")
    assert sorted(manager.extract_incremental_data(back, mark)["id"]) == [8, 9, 10, 11]
    newest = {"incremental_strategy": "snapshot", "table": "pairs", "snapshot_column": "day"}
    assert sorted(manager.extract_incremental_data(newest)["id"]) == [8, 9, 10, 11]
    mark = manager.update_watermark("sales", "snapshots", date(2024, 1, 3), "day", "snapshot")
    assert len(manager.extract_incremental_data(newest, mark)) == 0
    whole = {"incremental_strategy": "snapshot", "table": "pairs", "snapshot_date": "2024-05-01"}
    assert set(manager.extract_incremental_data(whole)["snapshot_date"]) == {date(2024, 5, 1)}
    merged = {"incremental_strategy": "delta", "table": "pairs", "timestamp_column": "at", "primary_key": "day"}
    assert len(manager.extract_incremental_data(merged)) == 3


@pytest.mark.thorough
def test_watermarks_know_time_zones(place: Callable[[str], Place]):
    db, manager = place("postgresql"), place("postgresql").manager
    db.do("CREATE TABLE zoned (id int PRIMARY KEY, at timestamptz, local timestamp)")
    db.do(
        "INSERT INTO zoned VALUES (1, '2024-01-01 10:00+00', '2024-01-01 11:00'),"
        " (2, '2024-01-01 12:00+00', '2024-01-01 13:00')"
    )
    mark = manager.update_watermark("sales", "zoned", "2024-01-01T12:30:00+01:00", "at")
    at = {"incremental_strategy": "timestamp", "table": "zoned", "timestamp_column": "at"}
    assert list(manager.extract_incremental_data(at, mark)["id"]) == [2]
    local = {**at, "timestamp_column": "local"}
    with pytest.raises(ConfigError, match="Say in which zone"):
        manager.extract_incremental_data(local, mark)
    assert list(manager.extract_incremental_data({**local, "timezone": "Europe/Zurich"}, mark)["id"]) == [2]


@pytest.mark.thorough
def test_stalls_resets_and_stored_settings(place: Callable[[str], Place]):
    db, manager = place("postgresql"), place("postgresql").manager
    manager.update_watermark("sales", "stalled", 20, "transaction_id", "sequence")
    manager.update_watermark("sales", "stalled", "2024-01-01", "day", "snapshot")
    stall = manager.detect_watermark_stall("sales", "stalled", "transactions", "transaction_id", 0)
    assert (stall.is_stalled, stall.source_maximum) == (True, "30")
    assert not manager.detect_watermark_stall("sales", "stalled", "transactions", "transaction_id", 60).is_stalled
    [reset] = manager.reset_watermark("sales", "stalled", "transaction_id", reason="a bad day")
    assert (reset.watermark_value, reset.reason) == (None, "a bad day")
    assert manager.get_last_watermark("sales", "stalled", "day").watermark_value == "2024-01-01"  # type: ignore[union-attr]
    settings = {"incremental_strategy": "sequence", "table": "transactions", "sequence_column": "transaction_id"}
    manager.set_incremental_config("sales", "stored", settings)
    stored = db.new().extract_incremental_data({"pipeline_id": "sales", "source_id": "stored"}, reset)
    assert len(stored) == 27
    with pytest.raises(ConfigError, match="Did you mean `sequence_column`"):
        manager.set_incremental_config("sales", "stored", {"table": "t", "sequence_colum": "x"})


@pytest.mark.thorough
def test_hooks_see_what_happens(place: Callable[[str], Place], caplog: pytest.LogCaptureFixture):
    db = place("postgresql")
    audited: list[str] = []
    measured: list[Any] = []
    manager = db.new(
        quality_engine=lambda data, table: len(data) < 3,
        audit_logger=lambda event, facts: audited.append(event),
        performance_monitor=measured.append,
    )
    with caplog.at_level(logging.INFO, "IncrementalLoadManager"):
        manager.merge_incremental_load("hooked", pd.DataFrame({"id": [1, 2]}), ["id"])
    assert audited == ["merge_incremental_load"]
    assert measured[0].records_inserted == 2
    assert "records_inserted=2" in caplog.text
    with pytest.raises(ValueProblem, match="quality engine refused"):
        manager.merge_incremental_load("hooked", pd.DataFrame({"id": [1, 2, 3]}), ["id"])
    assert db.ask("SELECT count(*) FROM hooked") == [(2,)]


@pytest.mark.parametrize("kind", MOSTLY_ONE)
def test_query_reads_only_what_is_new(place: Callable[[str], Place], kind: str):
    db, manager = place(kind), place(kind).manager
    mark = manager.update_watermark("sales", "orders", "2024-01-15T10:00:00", "updated_at")
    query = manager.optimize_incremental_query(
        "SELECT * FROM sales_orders WHERE region = 'US' OR region = 'it''s'", mark, partition_column="order_date"
    )
    assert query == (
        "SELECT * FROM sales_orders WHERE (region = 'US' OR region = 'it''s') AND order_date >= '2024-01-15'"
    )
    assert [ddl.split(" ON ")[0].strip() for ddl in query.recommendations] == [
        {
            "postgresql": 'CREATE INDEX "ix_sales_orders_order_date"',
            "mysql": "CREATE INDEX `ix_sales_orders_order_date`",
        }[kind]
    ]
    db.do(query.recommendations[0])
    mark = manager.update_watermark("sales", "orders", 7, "order_id", "sequence")
    joined = (
        "SELECT c.name FROM customer_data c JOIN sales_orders o ON o.order_id = c.customer_id"
        " UNION SELECT 'x' FROM sales_orders"
    )
    union = manager.optimize_incremental_query(joined, mark)
    assert "o.order_id > 7 UNION" in union
    assert union.endswith("WHERE order_id > 7")
    assert union.recommendations == ()
    assert db.ask(union) == []
    with pytest.raises(ConfigError, match="no SELECT"):
        manager.optimize_incremental_query("DELETE FROM sales_orders", mark)


def test_examples_of_the_page_run_as_they_stand(place: Callable[[str], Place]):
    db = place("postgresql")
    db.do("CREATE TABLE orders (order_id int PRIMARY KEY, region text, updated_at timestamp, amount int)")
    db.do("INSERT INTO orders VALUES (1, 'US', '2024-01-15 09:00', 5), (2, 'EU', '2024-01-15 11:00', 6)")
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) == 7
    names: dict[str, Any] = {"db": db.url}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)
    assert db.ask("SELECT order_id FROM orders_copy") == [(2,)]
    assert db.ask("SELECT order_id, amount FROM orders_by_events") == [(1, 7)]


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"incremental_strategy": "timestmp", "table": "t"}, "Did you mean `timestamp`"),
        ({"table": "t", "timestamp_colum": "x"}, "Did you mean `timestamp_column`"),
        ({"incremental_strategy": "hybrid", "table": "t", "timestamp_column": "x"}, "needs `id_column`"),
        ({"incremental_strategy": "timestamp", "timestamp_column": "x"}, "names no table"),
    ],
)
def test_wrong_settings_name_the_right_one(place: Callable[[str], Place], config: dict[str, Any], why: str):
    with pytest.raises(ConfigError, match=why):
        place("postgresql").manager.extract_incremental_data(config)


EVERY_TYPE = {
    "postgresql": [
        """
    CREATE TABLE {} (id int primary key, b boolean, s smallint, l bigint, r real, d double precision, n
    numeric(38,18), u numeric, da date, t time(6), ts timestamp(6), tz timestamptz, tx text, vc varchar(10), c
    char(5), j jsonb, uu uuid, by bytea, inet inet, bi bit(3))
    """,
        r"""
    INSERT INTO every VALUES
    (1,true,1,9223372036854775807,1.5,0.1,12345678901234567890.123456789012345678,1.50,'2024-01-31','10:11:12.123456','2024-01-31
    10:11:12.123456','2024-01-31 10:11:12.123456+02','naïve ✓','x','ab','{"a":
    1.50}','0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57','\\x00ff','10.0.0.1','101'),(2,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null),(3,false,-1,-1,'-0','1e300',-1,123456789012345678901234567890123456789012345.5,'0001-01-01','00:00','0001-01-01','1900-01-01
    00:00Z','','','','[]','0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d58','','::1','000')
    """,
    ],
    "mysql": [
        """
    CREATE TABLE {} (id int primary key, b tinyint(1), s smallint unsigned, l bigint unsigned, r float, d
    double, n decimal(38,18), da date, t time(6), ts datetime(6), tz timestamp(6) null, tx longtext, vc
    varchar(10), c char(5), by1 blob, bi bit(3), e enum('a','b'), y year)
    """,
        """
    INSERT INTO every VALUES
    (1,1,65535,18446744073709551615,1.5,0.1,12345678901234567890.123456789012345678,'2024-01-31','10:11:12.123456','2024-01-31
    10:11:12.123456','2024-01-31 10:11:12.123456','naïve
    ✓','x','ab',x'00ff',b'101','a',2024),(2,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null)
    """,
    ],
}
METHODS = """
get_last_watermark(pipeline_id, source_id)
update_watermark(pipeline_id, source_id, new_watermark, watermark_column, strategy)
extract_incremental_data(config, watermark)
handle_late_arriving_data(data, timestamp_column, watermark_value)
merge_incremental_load(target_table, data, merge_keys, load_type)
configure_cdc_source(cdc_config)
read_cdc_stream(cdc_config, from_lsn)
apply_cdc_changes(target_table, cdc_events)
implement_scd_type2(target_table, data, business_key, effective_date)
validate_incremental_completeness(expected_count, actual_count, tolerance_percent)
detect_data_gaps(pipeline_id, source_id, watermark_column)
deduplicate_data(data, key_columns)
optimize_incremental_query(base_query, watermark, partition_column)
"""
