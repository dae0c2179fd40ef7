"""`HybridSnapshotManager` and `ChangeDetector` as their users type them, on real servers."""

# ruff: noqa: S608 - the statements hold names and numbers of these tests

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kit import sides
from kit.pairs import first_daily
from kit.project import database_on
from tidegate import ChangeDetector, HybridSnapshotManager
from tidegate.api import snapshot_ddl
from tidegate.errors import ConfigError, LakeError, MissingObject, ProofFailed, Unsupported, ValueProblem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

KEY = "AAG ORDER NUMBER"
QUOTES = {"postgresql": '"', "mysql": "`"}


@dataclass
class Desk:
    """A database with the snapshot table, an archive, and a manager that uses both."""

    url: str = field(repr=False)
    archive: str = field(repr=False)

    def manager(self, **settings: Any) -> HybridSnapshotManager:
        return HybridSnapshotManager(**{"connection": self.url, "archive": self.archive, **settings})

    @property
    def kind(self) -> str:
        return self.url.partition(":")[0]

    @property
    def table(self) -> str:
        quote = QUOTES[self.kind]
        return f"{quote}ORDERS_UNIFIED_SNAPSHOT{quote}"

    def ask(self, query: str) -> list[Any]:
        return sides.ask(self.url, query.replace("{table}", self.table))

    def do(self, statement: str) -> None:
        sides.do(self.url, statement.replace("{table}", self.table))

    def ask_archive(self, query: str) -> list[Any]:
        return sides.ask(self.archive, query)

    def do_archive(self, statement: str) -> None:
        sides.do(self.archive, statement)


@pytest.fixture(params=["postgresql", "mysql"])
def any_desk(request: pytest.FixtureRequest, postgres: EmbeddedPostgres, mariadb: MariaDb) -> Iterator[Desk]:
    """On every database, also in everyday runs of the suite."""
    servers: dict[str, Any] = {"mysql": mariadb, "postgresql": postgres}
    with database_on(servers[request.param]) as work, database_on(postgres) as archive:
        yield Desk(work, archive)


@pytest.fixture(params=["postgresql", pytest.param("mysql", marks=pytest.mark.thorough)])
def desk(request: pytest.FixtureRequest, postgres: EmbeddedPostgres, mariadb: MariaDb) -> Iterator[Desk]:
    servers: dict[str, Any] = {"mysql": mariadb, "postgresql": postgres}
    with database_on(servers[request.param]) as work, database_on(postgres) as archive:
        yield Desk(work, archive)


@pytest.fixture
def one_desk(postgres: EmbeddedPostgres) -> Iterator[Desk]:
    """On PostgreSQL alone, for what does not depend on the database."""
    with database_on(postgres) as work, database_on(postgres) as archive:
        yield Desk(work, archive)


def orders(count: int = 20) -> pd.DataFrame:
    return pd.DataFrame(
        {
            KEY: [f"A{number}" for number in range(count)],
            "CUSTOMER NAME": ["GREYSON"] * count,
            "CUSTOMER STYLE": ["s", None] * (count // 2),
            "amount": [Decimal(number) / 4 for number in range(count)],
            "pieces": range(count),
            "seen": [datetime(2024, 1, 1) + timedelta(hours=number) for number in range(count)],
        }
    )


def batch() -> str:
    return str(uuid.uuid4())


def test_save_detect_and_load(any_desk: Desk):
    """The round of every day: a snapshot, other rows, what changed, the next snapshot, and both from the archive."""
    manager, first = any_desk.manager(), orders()
    one = manager.save_snapshot(first, "GREYSON", batch(), {"pipeline": "orders_v3"})
    later = first.drop(index=[0, 1]).copy()
    later.loc[[2, 3, 4], "pieces"] += 100
    later = pd.concat([later, later.tail(1).assign(**{KEY: "B1"})], ignore_index=True)

    found = ChangeDetector(manager).detect(later, customer_filter="GREYSON")

    assert found.rows == {"new": 1, "changed": 3, "unchanged": 15, "deleted": 2}
    assert list(found.new[KEY]) == ["B1"]
    assert list(found.changed[KEY]) == ["A2", "A3", "A4"]
    assert set(found.deleted[KEY]) == {"A0", "A1"}
    assert list(found.deleted["CUSTOMER NAME"]) == ["GREYSON", "GREYSON"]
    assert len(found.unchanged) == 15
    two = manager.save_snapshot(later, "GREYSON", batch())
    pd.testing.assert_frame_equal(manager.load_snapshot(one), first)
    pd.testing.assert_frame_equal(manager.load_snapshot(two), later)
    assert any_desk.ask("SELECT parquet_archive_id, count(*) FROM {table} GROUP BY parquet_archive_id ORDER BY 1") == [
        (one, 20),
        (two, 19),
    ]
    assert ChangeDetector(manager).detect(later, "GREYSON").rows == {
        "new": 0, "changed": 0, "unchanged": 19, "deleted": 0
    }  # fmt: skip


def test_first_detection_finds_only_new_rows(desk: Desk):
    found = ChangeDetector(desk.manager()).detect(orders(), "GREYSON")
    assert found.rows == {"new": 20, "changed": 0, "unchanged": 0, "deleted": 0}
    assert found.since is None
    assert len(found.deleted) == 0


def test_filters_do_not_see_each_other(any_desk: Desk):
    """Also filters that a database could take for equal."""
    manager = any_desk.manager()
    for name in ("GREYSON", "greyson", "GREYSON ", "it's; DROP"):
        manager.save_snapshot(orders(4), name)
    assert ChangeDetector(manager).detect(orders(4), "Greyson").rows["new"] == 4
    for name in ("GREYSON", "greyson", "GREYSON ", "it's; DROP"):
        assert ChangeDetector(manager).detect(orders(4), name).rows["unchanged"] == 4
    assert sorted(row["customer_filter"] for row in manager.list_snapshots()) == [
        "GREYSON", "GREYSON ", "greyson", "it's; DROP"
    ]  # fmt: skip


def test_filters_lie_in_partitions(any_desk: Desk):
    manager = any_desk.manager(partition_by_filter=True)
    kind = sides.kind_of(any_desk.url)
    for name in ("GREYSON", "greyson", "OTHER"):
        for pieces in (6, 4, 8):
            manager.save_snapshot(orders(pieces), name)
    found = ChangeDetector(manager).detect(orders(10), "greyson")
    assert found.rows == {"new": 2, "changed": 0, "unchanged": 8, "deleted": 0}
    if kind == "postgresql":
        held = any_desk.ask("SELECT DISTINCT tableoid::regclass::text FROM {table} WHERE customer_filter = 'GREYSON'")
        assert len(held) == 1
        parts = any_desk.ask("SELECT count(*) FROM pg_inherits WHERE inhparent = '{table}'::regclass")
    else:
        parts = any_desk.ask(
            "SELECT count(*) FROM information_schema.partitions"
            " WHERE table_name = 'ORDERS_UNIFIED_SNAPSHOT' AND table_schema = database() AND partition_method = 'KEY'"
        )
    assert parts == [(16,)]


def test_partitions_by_filter_are_refused_where_there_are_none():
    with pytest.raises(Unsupported, match="SQL Server has no partitions by the hash"):
        snapshot_ddl("sqlserver", partition_by_filter=True)


def test_table_keeps_the_current_and_one_previous_snapshot(desk: Desk):
    manager = desk.manager()
    for count in (2, 4, 6):
        manager.save_snapshot(orders(count), "GREYSON")
        manager.save_snapshot(orders(2), "OTHER")
    counts = "SELECT customer_filter, count(*) FROM {table} GROUP BY customer_filter ORDER BY customer_filter"
    assert desk.ask(counts) == [("GREYSON", 10), ("OTHER", 4)]
    assert [row["rows"] for row in manager.list_archives("GREYSON")] == [6, 4, 2]
    assert manager.cleanup_snapshot_history(keep_count=1) == 2
    assert desk.ask(counts) == [("GREYSON", 6), ("OTHER", 2)]


@pytest.mark.thorough
def test_saving_a_batch_again_changes_nothing(desk: Desk):
    manager, number = desk.manager(), batch()
    first = manager.save_snapshot(orders(), "GREYSON", number.upper())
    assert manager.save_snapshot(orders().iloc[::-1], "GREYSON", number) == first
    assert desk.ask("SELECT count(*) FROM {table}") == [(20,)]
    assert desk.ask_archive("SELECT count(*) FROM snapshot_archive") == [(1,)]
    with pytest.raises(ConfigError, match="was saved with other rows"):
        manager.save_snapshot(orders(4), "GREYSON", number)
    assert manager.save_snapshot(orders(4), "OTHER", number) != first


def test_an_empty_snapshot_is_a_snapshot(desk: Desk):
    """Every row of a customer is gone: that is a change, and the next run must not find it again."""
    manager = desk.manager()
    manager.save_snapshot(orders(), "GREYSON")
    nothing = orders().head(0)
    assert ChangeDetector(manager).detect(nothing, "GREYSON").rows["deleted"] == 20
    archive = manager.save_snapshot(nothing, "GREYSON")
    assert ChangeDetector(manager).detect(nothing, "GREYSON").rows["deleted"] == 0
    assert len(manager.load_snapshot(archive)) == 0
    assert ChangeDetector(manager).detect(orders(2), "GREYSON").rows["new"] == 2


def test_phase_1_has_no_archive_and_phase_2_adds_it(desk: Desk):
    alone = desk.manager(archive=False)
    assert alone.save_snapshot(orders(), "GREYSON", batch()) is None
    with pytest.raises(ConfigError, match="No archive"):
        alone.get_archive_statistics()
    both = desk.manager()
    changed = orders().assign(pieces=0)
    assert ChangeDetector(both).detect(changed, "GREYSON").rows["changed"] == 19
    assert both.save_snapshot(changed, "GREYSON") is not None
    assert [row["state"] for row in both.list_snapshots()] == ["archived", "table"]


@pytest.mark.parametrize("wrong", ["null", "twice", "no column", "filter", "batch"])
def test_wrong_input_is_refused_before_anything_is_written(desk: Desk, wrong: str):
    manager, frame, arguments = desk.manager(), orders(4), {"customer_filter": "GREYSON", "batch_id": batch()}
    match wrong:
        case "null":
            frame.loc[1, KEY] = None
        case "twice":
            frame.loc[1, KEY] = "A0"
        case "no column":
            frame = frame.rename(columns={KEY: "other"})
        case "filter":
            arguments["customer_filter"] = ""
        case "batch":
            arguments["batch_id"] = "monday"
    with pytest.raises((ValueProblem, ConfigError), match=r"Nothing was written|no value"):
        manager.save_snapshot(frame, **arguments)
    assert manager.list_snapshots() == []
    assert manager.list_archives() == []


def test_keys_of_several_columns_and_odd_names(any_desk: Desk):
    key = ["order no.", 'it\'s a "key" [x]']
    rows = pd.DataFrame({key[0]: [1, 1, 2], key[1]: ["a", "A", "a "], "value": [1, 2, 3]})
    manager = any_desk.manager(table="my snapshots", business_key=key, attributes=["value"])
    manager.save_snapshot(rows, "x")
    rows.loc[1, "value"] = 9
    found = ChangeDetector(manager).detect(rows, "x")
    assert found.rows == {"new": 0, "changed": 1, "unchanged": 2, "deleted": 0}
    assert manager.get_record_history([1, "A"])[0]["value"] == 2


def test_somebody_who_changes_the_table_is_noticed(desk: Desk):
    manager = desk.manager()
    manager.save_snapshot(orders(), "GREYSON")
    quote = QUOTES[desk.kind]
    desk.do(f"DELETE FROM {{table}} WHERE {quote}{KEY}{quote} = 'A3'")
    with pytest.raises(ProofFailed, match="had 20 rows and has 19"):
        ChangeDetector(manager).detect(orders(), "GREYSON")


def test_a_lost_register_is_written_again(desk: Desk):
    manager = desk.manager()
    archive = manager.save_snapshot(orders(), "GREYSON")
    name = "tidegate.snapshots" if desk.kind == "postgresql" else "tidegate_snapshots"
    desk.do(f"DELETE FROM {name}")
    assert ChangeDetector(manager).detect(orders(), "GREYSON").rows["unchanged"] == 20
    assert manager.list_snapshots()[0]["archive_id"] == archive


def test_a_table_by_the_documented_ddl_is_used_as_it_is(desk: Desk):
    """Whoever deployed the table before keeps it, its rows and its types."""
    quote, moment = QUOTES[desk.kind], {"postgresql": "timestamp", "mysql": "datetime(6)"}[desk.kind]
    id_type = {"postgresql": "uuid", "mysql": "char(36)"}[desk.kind]
    columns = ", ".join(f"{quote}{name}{quote} varchar(255)" for name in (KEY, "CUSTOMER NAME", "CUSTOMER STYLE"))
    desk.do(
        f"CREATE TABLE {{table}} (record_uuid {id_type} PRIMARY KEY, row_hash varchar(64) NOT NULL, {columns},"
        f" snapshot_date {moment} NOT NULL, customer_filter varchar(255) NOT NULL, batch_id {id_type},"
        " parquet_archive_id bigint)"
    )
    desk.do(
        "INSERT INTO {table} (record_uuid, row_hash, snapshot_date, customer_filter)"
        f" VALUES ('{batch()}', 'old', '2024-01-01', 'GREYSON')"
    )
    manager = desk.manager()
    manager.save_snapshot(orders(), "GREYSON")
    assert ChangeDetector(manager).detect(orders(), "GREYSON").rows["unchanged"] == 20
    assert desk.ask("SELECT count(*) FROM {table}") == [(21,)]


# The frames that are understood


def test_frames_of_every_kind_give_the_same_hashes(one_desk: Desk, tmp_path):
    manager = one_desk.manager()
    rows = pa.table({KEY: ["a", "b", "c"], "n": [1, None, 3], "t": ["x", None, ""]})
    manager.save_snapshot(rows, "x")
    pq.write_table(rows, tmp_path / "rows.parquet")
    for frame in (rows, pl.from_arrow(rows), pl.from_arrow(rows).lazy(), rows.to_pandas(), ds.dataset(tmp_path)):
        found = ChangeDetector(manager).detect(frame, "x")
        assert found.rows == {"new": 0, "changed": 0, "unchanged": 3, "deleted": 0}, type(frame)
    changed = ChangeDetector(manager).detect(pl.from_arrow(rows).with_columns(n=pl.lit(3)), "x").changed
    assert isinstance(changed, pl.DataFrame)
    assert changed[KEY].to_list() == ["a", "b"]
    assert manager.load_snapshot(customer_filter="x", as_="arrow").equals(rows)
    assert isinstance(manager.load_snapshot(customer_filter="x", as_="polars"), pl.DataFrame)
    assert manager.load_snapshot(customer_filter="x", columns=["t"]).columns.tolist() == ["t"]
    with pytest.raises(ConfigError, match="Rows cannot be taken from list"):
        manager.save_snapshot([1], "x")


@pytest.mark.spark
def test_spark_frames(one_desk: Desk, spark: SparkSession):
    """Spark's tasks compute the hashes, and Spark's tasks read the archive."""
    manager = one_desk.manager(spark=spark)
    frame = spark.createDataFrame(
        [(f"A{n}", n, Decimal(n)) for n in range(50)], f"`{KEY}` string, n int, d decimal(9,2)"
    )
    archive = manager.save_snapshot(frame, "x", batch(), {"from": "spark"})
    changed = frame.where("n > 4").selectExpr(f"`{KEY}`", "if(n < 10, n + 1, n) AS n", "d")
    found = ChangeDetector(manager).detect(changed, "x")
    assert found.rows == {"new": 0, "changed": 5, "unchanged": 40, "deleted": 5}
    assert sorted(row["n"] for row in found.changed.collect()) == [6, 7, 8, 9, 10]
    assert found.new.count() == 0
    assert found.unchanged.count() == 40
    assert found.deleted.count() == 5
    loaded = manager.load_snapshot(archive, as_="spark")
    assert sorted(map(tuple, loaded.collect())) == sorted(map(tuple, frame.collect()))


def test_pandas_types_come_back_as_they_were(one_desk: Desk):
    frame = pd.DataFrame(
        {
            KEY: ["a", "b"],
            "category": pd.Categorical(["x", None]),
            "moment": pd.to_datetime(["2024-01-01 00:00:00.123456789", None]),
            "zoned": pd.to_datetime(["2024-01-01", None]).tz_localize("Europe/Oslo"),
            "whole": pd.array([1, None], dtype="Int64"),
            "text": pd.array(["é", None], dtype="string"),
            "float": [1.5, None],
            "bool": [True, False],
            "bytes": [b"\x00", None],
        }
    )
    manager = one_desk.manager()
    archive = manager.save_snapshot(frame, "x")
    pd.testing.assert_frame_equal(manager.load_snapshot(archive), frame)


def test_a_null_does_not_change_the_other_rows(one_desk: Desk):
    """pandas turns whole numbers into floats where a null joins them."""
    manager = one_desk.manager()
    manager.save_snapshot(orders(), "x")
    changed = orders()
    changed.loc[3, "pieces"] = None
    assert changed["pieces"].dtype == "float64"
    assert list(ChangeDetector(manager).detect(changed, "x").changed[KEY]) == ["A3"]


@pytest.mark.thorough
def test_many_columns(one_desk: Desk):
    wide = pd.DataFrame({KEY: ["a", "b"], **{f"column {number}": [number, None] for number in range(1200)}})
    manager = one_desk.manager()
    archive = manager.save_snapshot(wide, "x")
    wide.loc[1, "column 777"] = 7
    found = ChangeDetector(manager).changed_columns(wide, "x")
    assert found.columns == {"column 777": 1}
    assert manager.load_snapshot(archive).shape == (2, 1201)


def test_ignored_columns_are_archived_and_not_compared(one_desk: Desk):
    manager = one_desk.manager(ignore_columns=["seen"])
    archive = manager.save_snapshot(orders(), "x")
    later = orders().assign(seen=datetime(2030, 1, 1))
    assert ChangeDetector(manager).detect(later, "x").rows["unchanged"] == 20
    assert "seen" in manager.load_snapshot(archive).columns


def test_added_columns_are_named(one_desk: Desk):
    manager = one_desk.manager()
    manager.save_snapshot(orders(4), "x")
    found = ChangeDetector(manager).detect(orders(4).assign(extra=1).drop(columns="seen"), "x")
    assert (found.columns_added, found.columns_removed) == (("extra",), ("seen",))
    assert found.rows["changed"] == 4


# Analysis


def test_comparison_names_the_cells_that_changed(one_desk: Desk):
    manager = one_desk.manager()
    one = manager.save_snapshot(orders(6), "x")
    later = orders(8).drop(index=0)
    later.loc[2, "CUSTOMER STYLE"] = None
    later.loc[3, ["pieces", "CUSTOMER STYLE"]] = [30, "new"]
    cells = ChangeDetector(manager).changed_columns(later, "x")
    two = manager.save_snapshot(later, "x")

    found = manager.compare_snapshots(one, two)

    assert found.unchanged == 3
    assert found.new[KEY].to_pylist() == ["A6", "A7"]
    assert found.deleted[KEY].to_pylist() == ["A0"]
    assert found.changes.columns == {"CUSTOMER STYLE": 2, "pieces": 1} == cells.columns
    rows = {(row[KEY], row["column"]): (row["before"], row["after"]) for row in found.changes.cells.to_pylist()}
    assert rows == {
        ("A2", "CUSTOMER STYLE"): ("s", None),
        ("A3", "CUSTOMER STYLE"): (None, "new"),
        ("A3", "pieces"): ("3", "30"),
    }
    assert manager.compare_snapshots(two, two).unchanged == 7


def test_history_of_one_record(one_desk: Desk):
    manager = one_desk.manager()
    for pieces in (1, 2, 2):
        manager.save_snapshot(orders(4).assign(pieces=pieces), "x")
    manager.save_snapshot(orders(2), "x")
    found = manager.get_record_history("A3", "x")
    assert [row["pieces"] for row in found] == [1, 2, 2]
    assert len({row["row_hash"] for row in found}) == 2
    assert manager.get_record_history("nobody") == []


def test_snapshot_of_a_day_is_found(one_desk: Desk):
    manager = one_desk.manager()
    one = manager.save_snapshot(orders(2), "x")
    two = manager.save_snapshot(orders(4), "x")
    one_desk.do_archive(f"UPDATE snapshot_archive SET snapshot_date = '2026-01-30 23:00' WHERE archive_id = {one}")
    one_desk.do_archive(f"UPDATE snapshot_archive SET snapshot_date = '2026-01-31 07:00' WHERE archive_id = {two}")
    assert len(manager.load_snapshot(customer_filter="x")) == 4
    assert len(manager.load_snapshot(customer_filter="x", snapshot_date="2026-01-30")) == 2
    assert len(manager.load_snapshot(customer_filter="x", snapshot_date=datetime(2026, 1, 31, 6))) == 2
    assert len(manager.load_snapshot(customer_filter="x", snapshot_date=datetime(2026, 1, 31, 8, tzinfo=UTC))) == 4
    with pytest.raises(MissingObject, match="no snapshot"):
        manager.load_snapshot(customer_filter="x", snapshot_date="2026-01-29")
    with pytest.raises(MissingObject):
        manager.load_snapshot(999)


def test_export_is_a_parquet_file_of_all_rows(one_desk: Desk, tmp_path):
    manager = one_desk.manager()
    archive = manager.save_snapshot(orders(), "x")
    path = tmp_path / "orders.parquet"
    size = manager.export_snapshot(archive, path)
    assert size == path.stat().st_size
    pd.testing.assert_frame_equal(pd.read_parquet(path), orders())
    with pytest.raises(LakeError):
        manager.export_snapshot(archive, tmp_path / "nowhere" / "orders.parquet")
    assert [entry.name for entry in tmp_path.iterdir()] == ["orders.parquet"]


# Keeping house


def test_statistics_equal_what_is_stored(one_desk: Desk):
    manager = one_desk.manager()
    for name, count in (("x", 10), ("x", 20), ("y", 4)):
        manager.save_snapshot(orders(count), name)
    old = manager.save_snapshot(orders(6), "y")
    one_desk.do_archive(
        f"UPDATE snapshot_archive SET snapshot_date = now() - interval '40 days' WHERE archive_id = {old}"
    )

    found = manager.get_archive_statistics(days_back=30)

    assert found == json.loads(json.dumps(found))
    files = one_desk.ask_archive(
        "SELECT customer_filter, length(parquet_data), uncompressed_size FROM snapshot_archive"
        f" WHERE archive_id <> {old}"
    )
    assert (found["archives"], found["rows"]) == (3, 34)
    assert found["bytes"] == sum(size for _, size, _ in files)
    assert found["compression_ratio"] == round(sum(row[2] for row in files) / found["bytes"], 2)
    x = found["filters"]["x"]
    ratios = [round(memory / size, 2) for name, size, memory in files if name == "x"]
    assert (x["archives"], x["rows"]) == (2, 30)
    assert x["average_compression_ratio"] == pytest.approx(sum(ratios) / 2, abs=0.006)
    assert manager.get_archive_statistics(days_back=60)["archives"] == 4
    assert list(manager.get_archive_statistics(30, "y")["filters"]) == ["y"]
    typed = one_desk.ask_archive("SELECT customer_filter, archive_count FROM get_archive_statistics(NULL, 30)")
    assert typed == [("x", 2), ("y", 1)]


def test_clean_up_follows_the_calendar(one_desk: Desk):
    """Archives are kept 90 days; a date that somebody set decides alone."""
    manager = one_desk.manager(keep_count=9)
    names = ["young", "old", "held", "expired", "forever"]
    archive = {name: manager.save_snapshot(orders(2), name) for name in names}
    for name, change in {
        "old": "snapshot_date = now() AT TIME ZONE 'UTC' - interval '91 days'",
        "young": "snapshot_date = now() AT TIME ZONE 'UTC' - interval '89 days'",
        "held": "snapshot_date = '2020-01-01', retention_until = '2999-12-31'",
        "expired": "retention_until = current_date - 2",
        "forever": "snapshot_date = '2020-01-01', retention_until = NULL",
    }.items():
        one_desk.do_archive(f"UPDATE snapshot_archive SET {change} WHERE archive_id = {archive[name]}")

    preview = manager.cleanup_old_archives(90, True)

    assert [row["customer_filter"] for row in preview["archives"]] == ["old", "expired"]
    assert preview["dry_run"] is True
    typed = one_desk.ask_archive("SELECT customer_filter, deleted FROM cleanup_old_archives(90, true)")
    assert typed == [("old", False), ("expired", False)]
    assert len(manager.list_archives()) == 5
    assert manager.cleanup_old_archives(keep_days=90, dry_run=False)["count"] == 2
    assert sorted(row["customer_filter"] for row in manager.list_archives()) == ["forever", "held", "young"]
    states = {row["customer_filter"]: (row["state"], row["archive_id"]) for row in manager.list_snapshots()}
    assert states["old"] == ("removed", None)
    assert states["young"] == ("archived", archive["young"])
    assert one_desk.ask("SELECT DISTINCT parquet_archive_id FROM {table} WHERE customer_filter = 'old'") == [(None,)]
    with pytest.raises(ConfigError):
        manager.cleanup_old_archives(keep_days=-1)


def test_retention_can_be_set_per_snapshot(one_desk: Desk):
    manager = one_desk.manager(retention_days=10)
    manager.save_snapshot(orders(2), "x")
    manager.save_snapshot(orders(2), "x", retention_until=datetime(2099, 1, 1).date())
    until = [row["retention_until"] for row in manager.list_archives()]
    assert until == ["2099-01-01", str((datetime.now(UTC) + timedelta(days=10)).date())]


DAMAGE = {
    "a bit": "parquet_data = set_bit(parquet_data, 4000, 1 - get_bit(parquet_data, 4000))",
    "the end": "parquet_data = substring(parquet_data FROM 1 FOR length(parquet_data) - 10)",
    "no file": "parquet_data = ''",
    "schema": "schema_hash = repeat('0', 64)",
    "rows": "row_total = row_total + 1",
}


@pytest.mark.parametrize("damage", first_daily(*DAMAGE))
def test_damage_of_an_archive_is_found(one_desk: Desk, damage: str):
    manager = one_desk.manager()
    good, bad = (manager.save_snapshot(orders(), name) for name in "xy")
    assert manager.validate_archive_integrity() == {good: "valid", bad: "valid"}
    one_desk.do_archive(f"UPDATE snapshot_archive SET {DAMAGE[damage]} WHERE archive_id = {bad}")
    found = manager.validate_archive_integrity()
    assert found == {good: "valid", bad: "corrupt"}
    assert list(found.problems) == [bad]
    if damage in ("a bit", "the end", "no file"):
        with pytest.raises(LakeError, match=f"Archive {bad}"):
            manager.load_snapshot(bad)
        typed = one_desk.ask_archive("SELECT archive_id, is_valid FROM validate_archive_integrity()")
        assert typed == [(good, True), (bad, False)]


OTHER = "(SELECT o.{} FROM snapshot_archive_chunk AS o WHERE o.number = 3 - snapshot_archive_chunk.number)"
CHUNK_DAMAGE = {
    "a bit": "UPDATE snapshot_archive_chunk SET data = set_bit(data, 9, 1 - get_bit(data, 9)) WHERE number = 2",
    "missing": "DELETE FROM snapshot_archive_chunk WHERE number = 3",
    "exchanged": f"UPDATE snapshot_archive_chunk SET data = {OTHER.format('data')}, sha256 = {OTHER.format('sha256')}"
    " WHERE number IN (1, 2)",
    "shorter": "UPDATE snapshot_archive_chunk SET data = '', sha256 = encode(sha256(''), 'hex') WHERE number = 2",
}


@pytest.mark.parametrize("damage", first_daily(*CHUNK_DAMAGE))
def test_damage_of_a_chunk_is_found(one_desk: Desk, damage: str, monkeypatch: pytest.MonkeyPatch):
    """Large archives lie in chunks; the size of a chunk is smaller here."""
    shrink_chunks(monkeypatch)
    manager = one_desk.manager()
    archive = manager.save_snapshot(orders(2000), "x")
    assert one_desk.ask_archive("SELECT length(parquet_data) FROM snapshot_archive") == [(0,)]
    assert one_desk.ask_archive("SELECT count(*) > 5 FROM snapshot_archive_chunk") == [(True,)]
    pd.testing.assert_frame_equal(manager.load_snapshot(archive), orders(2000))
    assert manager.validate_archive_integrity() == {archive: "valid"}
    one_desk.do_archive(CHUNK_DAMAGE[damage])
    assert manager.validate_archive_integrity() == {archive: "corrupt"}
    if damage != "exchanged":
        with pytest.raises(LakeError):
            manager.load_snapshot(archive)


def shrink_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.snapshots.spool.CHUNK_BYTES", 4096)
    monkeypatch.setattr("tidegate.snapshots.archive.INLINE_BYTES", 4096)


@pytest.mark.thorough
def test_chunks_are_exported_in_their_order(one_desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path):
    shrink_chunks(monkeypatch)
    manager = one_desk.manager()
    archive = manager.save_snapshot(orders(2000), "x")
    manager.export_snapshot(archive, tmp_path / "x.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "x.parquet"), orders(2000))
    manager.cleanup_old_archives(keep_days=0, dry_run=False)
    assert manager.list_archives() != []  # of today
    one_desk.do_archive("UPDATE snapshot_archive SET snapshot_date = '2020-01-01'")
    manager.cleanup_old_archives(keep_days=0, dry_run=False)
    assert one_desk.ask_archive("SELECT count(*) FROM snapshot_archive_chunk") == [(0,)]


@pytest.mark.thorough
def test_an_archive_table_by_the_documented_ddl_is_used(one_desk: Desk):
    one_desk.do_archive(
        "CREATE TABLE snapshot_archive (archive_id BIGSERIAL PRIMARY KEY, snapshot_date TIMESTAMP NOT NULL,"
        " customer_filter VARCHAR(255) NOT NULL, parquet_data BYTEA NOT NULL, parquet_size BIGINT,"
        " compression_ratio DECIMAL(5,2), schema_hash VARCHAR(64), tags JSONB, retention_until DATE)"
    )
    one_desk.do_archive(
        "INSERT INTO snapshot_archive (snapshot_date, customer_filter, parquet_data) VALUES (now(), 'old', 'nothing')"
    )
    manager = one_desk.manager()
    archive = manager.save_snapshot(orders(), "x", None, {"a": [1, {"b": None}]})
    assert manager.list_archives()[0]["tags"] == {"a": [1, {"b": None}]}
    assert manager.validate_archive_integrity() == {1: "corrupt", archive: "valid"}
    assert one_desk.ask_archive("SELECT tags -> 'a' FROM snapshot_archive WHERE tags IS NOT NULL") == [
        ([1, {"b": None}],)
    ]


def test_the_documented_variables_name_the_archive(one_desk: Desk, monkeypatch: pytest.MonkeyPatch):
    from tidegate.config import parse_connection

    place = parse_connection(one_desk.archive)
    host = dict(place.options).get("host", place.host)
    values = {"HOST": host, "PORT": place.port, "DB": place.database, "USER": place.user, "PASSWORD": place.password}
    for name, value in values.items():
        monkeypatch.setenv(f"KESTRA_POSTGRES_{name}", str(value))
    monkeypatch.setenv("SNAPSHOT_DATABASE_URL", one_desk.url)
    monkeypatch.setenv("SNAPSHOT_KEEP_COUNT", "1")
    monkeypatch.setenv("ARCHIVE_RETENTION_DAYS", "3")
    manager = HybridSnapshotManager()
    for count in (2, 4):
        assert manager.save_snapshot(df=orders(count), customer_filter="x", batch_id=batch(), tags={}) is not None
    assert one_desk.ask("SELECT count(*) FROM {table}") == [(4,)]
    assert manager.list_archives()[0]["retention_until"] == str((datetime.now(UTC) + timedelta(days=3)).date())


@pytest.mark.thorough
def test_an_unfinished_earlier_save_is_said(one_desk: Desk, caplog: pytest.LogCaptureFixture):
    one_desk.manager(archive=False).save_snapshot(orders(4), "x", number := batch())
    with caplog.at_level(logging.WARNING, "tidegate.snapshots"):
        one_desk.manager().save_snapshot(orders(6), "x")
    assert number in caplog.text
    assert "not in the archive" in caplog.text
    assert one_desk.manager().save_snapshot(orders(4), "x", number) is not None
    assert {row["state"] for row in one_desk.manager().list_snapshots()} == {"archived"}


def test_settings_without_a_database_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SNAPSHOT_DATABASE_URL", raising=False)
    with pytest.raises(ConfigError, match="SNAPSHOT_DATABASE_URL"):
        HybridSnapshotManager()
    with pytest.raises(ConfigError, match="columns of its own"):
        HybridSnapshotManager("postgresql://u@h/d", business_key=["batch_id"], archive=False)
