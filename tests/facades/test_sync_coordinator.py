"""The sync coordinator and each of its parts, as their users type them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kit import sides
from kit.pairs import first_daily
from kit.project import database_on
from tidegate import (
    AppendOnlyMergeStrategy,
    DatabaseWatermarkStore,
    FilesystemCatalog,
    FileWatermarkStore,
    FullRefreshDetection,
    IcebergAppender,
    IcebergReader,
    IdBasedChangeDetection,
    ImportOptions,
    IncrementalSyncCoordinator,
    MergeOptions,
    ReadOptions,
    ReplaceMergeStrategy,
    Scd2MergeStrategy,
    SqlServerImporter,
    SyncOptions,
    TablePropertyWatermarkStore,
    TimestampChangeDetection,
    UpsertMergeStrategy,
    Watermark,
    WatermarkStore,
)
from tidegate.errors import ConfigError, LakeError, Unsupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

MOMENT = {"postgresql": "timestamp(6)", "mysql": "datetime(6)"}
START = datetime(2024, 10, 10, 12)
OPTIONS = SyncOptions(watermark_column="modified_date", primary_key_column="customer_id")
PAIRS = [("postgresql", "mysql"), pytest.param("mysql", "postgresql", marks=pytest.mark.thorough)]


@pytest.fixture
def databases(postgres: EmbeddedPostgres, request: pytest.FixtureRequest) -> Iterator[Callable[[str], str]]:
    """Create databases on a server of a kind."""
    with ExitStack() as opened:

        def make(kind: str = "postgresql") -> str:
            server: EmbeddedPostgres | MariaDb = postgres
            if kind == "mysql":
                server = request.getfixturevalue("mariadb")
            return opened.enter_context(database_on(server))

        yield make


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[IncrementalSyncCoordinator]:
    with IncrementalSyncCoordinator(tmp_path / "warehouse", engine="process") as made:
        yield made


def customers(url: str, table: str = "customers", rows: int = 100) -> None:
    moment = MOMENT[sides.kind_of(url)]
    sides.do(url, f"CREATE TABLE {table} (customer_id int PRIMARY KEY, name varchar(20), modified_date {moment})")
    for number in range(1, rows + 1):
        insert(url, number, table)


def insert(url: str, number: int, table: str = "customers", name: str = "first") -> None:
    moment = START + timedelta(seconds=number)
    sides.do(url, "INSERT INTO " + table + " VALUES (%s, %s, %s)", number, name, moment)  # noqa: S608 - a name of ours


def rows(url: str, table: str = "customers") -> list[Any]:
    return sorted(sides.ask(url, "SELECT * FROM " + table))  # noqa: S608 - a name of ours


@pytest.mark.postgres
@pytest.mark.mysql
@pytest.mark.parametrize(("source_kind", "target_kind"), PAIRS)
def test_changes_are_synced_and_the_past_is_kept(
    databases: Callable[[str], str], coordinator: IncrementalSyncCoordinator, source_kind: str, target_kind: str
):
    """A first sync takes everything, the next one what changed, a third one nothing. Old snapshots stay readable."""
    source, target = databases(source_kind), databases(target_kind)
    customers(source)

    def sync() -> Any:
        return coordinator.sync(source, "customers", "crm.customers", target, "customers", OPTIONS)

    first = sync()
    assert (first.success, first.rows_extracted, first.rows_appended, first.rows_imported) == (True, 100, 100, 100)
    assert first.new_watermark.last_sync_timestamp == START + timedelta(seconds=100)
    for number in range(1001, 1011):
        insert(source, number)
    sides.do(
        source,
        "UPDATE customers SET name = 'changed', modified_date = %s WHERE customer_id <= 5",
        START.replace(hour=13),
    )
    second = sync()
    third = sync()

    assert (second.success, second.rows_imported) == (True, 15)
    assert second.new_snapshot_id != first.new_snapshot_id
    assert (third.success, third.rows_imported, third.new_snapshot_id) == (True, 0, second.new_snapshot_id)
    assert rows(target) == rows(source)
    reader = IcebergReader(coordinator.warehouse)
    assert {row["name"] for row in reader.read_snapshot("crm.customers", first.new_snapshot_id)} == {"first"}
    since = ReadOptions(since_snapshot_id=first.new_snapshot_id, filter="customer_id > 1000", columns=["customer_id"])
    assert sorted(row["customer_id"] for row in reader.read("crm.customers", since)) == [*range(1001, 1011)]


@pytest.mark.thorough
@pytest.mark.postgres
def test_tables_are_synced_at_the_same_time(
    databases: Callable[..., str], coordinator: IncrementalSyncCoordinator, caplog: pytest.LogCaptureFixture
):
    """Several tables are synced at once, each by options of its own; one that fails says why and stops no other."""
    source, target = databases(), databases()
    for table in ("one", "two", "three"):
        customers(source, table, 20)
    options = {
        "one": SyncOptions(watermark_column="customer_id", mode="id", merge_mode="append_only"),
        "two": SyncOptions(primary_key_column="customer_id"),
        "three": SyncOptions(watermark_column="no_such_column"),
    }
    syncs = [(source, table, table, target, table) for table in options]

    with caplog.at_level(logging.INFO, "tidegate.sync"):
        found = coordinator.sync_tables(syncs, options, max_parallel=3)

    assert {table: result.success for table, result in found.items()} == {"one": True, "two": True, "three": False}
    assert "no_such_column" in (found["three"].error_message or "")
    assert found["one"].new_watermark is not None
    assert found["one"].new_watermark.last_sync_id == 20
    assert rows(target, "one") == rows(source, "one")
    assert rows(target, "two") == rows(source, "two")
    lines = [record.getMessage() for record in caplog.records if record.name == "tidegate.sync"]
    assert sum("rows extracted" in line for line in lines) == 2


@pytest.mark.thorough
@pytest.mark.postgres
def test_new_column_of_the_source_is_synced(databases: Callable[..., str], coordinator: IncrementalSyncCoordinator):
    """A column that the source gets is added to the Iceberg table and to the target."""
    source, target = databases(), databases()
    customers(source, rows=10)
    coordinator.sync(source, "customers", "customers", target, "customers", OPTIONS)
    sides.do(source, "ALTER TABLE customers ADD COLUMN city text")
    sides.do(source, "UPDATE customers SET city = 'Basel', modified_date = '2024-11-01' WHERE customer_id = 3")

    result = coordinator.sync(source, "customers", "customers", target, "customers", OPTIONS)

    assert result.success, result.error_message
    assert sides.ask(target, "SELECT customer_id FROM customers WHERE city = 'Basel'") == [(3,)]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (SyncOptions(mode="change_tracking", merge_mode="replace"), "Change Tracking names rows that changed or left"),
        (SyncOptions(mode="timestamp"), "needs to know by which column"),
        (SyncOptions(watermark_column="modified_date"), "Nothing was"),
    ],
)
def test_failed_sync_says_why(coordinator: IncrementalSyncCoordinator, options: SyncOptions, reason: str):
    """A sync that cannot be done returns a result without success, with the reason."""
    nowhere = "postgresql://u:secret-of-mine@127.0.0.1:1/db"
    result = coordinator.sync(nowhere, "customers", "customers", nowhere.replace("/db", "/other"), "customers", options)

    assert (result.success, result.rows_imported) == (False, 0)
    assert reason in (result.error_message or "")
    assert "secret-of-mine" not in (result.error_message or "")


# Tables


def test_each_append_makes_a_snapshot(tmp_path: Path):
    """Appends make the table and then one snapshot each; every snapshot is read as it was."""
    appender, reader = IcebergAppender(tmp_path), IcebergReader(tmp_path)

    first = appender.append("sales.orders", [{"id": 1, "note": "a"}, {"id": 2, "note": None}])
    second = appender.append("sales.orders", pa.table({"id": [3], "note": ["c"]}))

    assert (first.rows_appended, second.rows_appended) == (2, 1)
    assert [snapshot.id for snapshot in reader.snapshots("sales.orders")] == [
        str(first.snapshot_id),
        str(second.snapshot_id),
    ]
    assert sorted(row["id"] for row in reader.read("sales.orders")) == [1, 2, 3]
    assert list(reader.read("sales.orders", ReadOptions(filter="id = 2"))) == [{"id": 2, "note": None}]
    assert sorted(row["id"] for row in reader.read_snapshot("sales.orders", first.snapshot_id)) == [1, 2]
    assert [batch.num_rows for batch in reader.read_batches("sales.orders", ReadOptions(batch_size=1))] == [1, 1, 1]


def test_rows_that_do_not_fit_are_refused(tmp_path: Path):
    """Rows of other types, unknown tables and unknown snapshots are refused, and nothing is committed."""
    appender, reader = IcebergAppender(tmp_path), IcebergReader(tmp_path)
    appender.append("orders", [{"id": 1}])

    with pytest.raises(LakeError, match="do not fit"):
        appender.append("orders", [{"id": "text"}])
    with pytest.raises(LakeError, match=r"no table default\.other"):
        list(reader.read("other"))
    with pytest.raises(LakeError, match="has no snapshot 7"):
        list(reader.read_snapshot("orders", 7))
    assert len(reader.snapshots("orders")) == 1


def test_catalog_of_a_folder_counts_versions(tmp_path: Path):
    """Tables are made, committed to and loaded by name; the version hint of each follows."""
    catalog = FilesystemCatalog(tmp_path)
    assert (catalog.table_exists("orders"), catalog.get_next_version("orders")) == (False, 1)

    catalog.initialize_table("orders", pa.schema([("id", pa.int64())]))
    before = catalog.get_next_version("orders")
    committed = catalog.commit("orders", [{"id": 1}])

    assert catalog.table_exists("orders")
    assert catalog.load_table("orders")["current-snapshot-id"] == committed.snapshot_id
    hint = int((tmp_path / "default/orders/metadata/version-hint.text").read_text())
    mirrored = json.loads((tmp_path / f"default/orders/metadata/v{hint}.metadata.json").read_text())
    assert mirrored["current-snapshot-id"] == committed.snapshot_id
    assert (before, catalog.get_next_version("orders")) == (hint, hint + 1)


# Queries


@pytest.mark.postgres
def test_queries_begin_at_the_watermark(databases: Callable[..., str]):
    """A strategy returns a query from the watermark on, or for all rows without one."""
    source = databases()
    customers(source, rows=10)
    watermark = Watermark("customers", last_sync_timestamp=START + timedelta(seconds=8), last_sync_id=9)

    by_time = TimestampChangeDetection(source, "modified_date").build_query("customers", watermark)
    by_id = IdBasedChangeDetection(source, "customer_id").build_query("customers", watermark)
    first = TimestampChangeDetection(source, "modified_date").build_query("customers")
    everything = FullRefreshDetection(source).build_query("customers", watermark)

    counts = [len(sides.ask(source, query.query)) for query in (by_time, by_id, first, everything)]
    assert counts == [3, 2, 10, 10]
    assert [query.is_full for query in (by_time, by_id, first, everything)] == [False, False, True, True]


# Imports


@pytest.mark.postgres
@pytest.mark.spark
def test_rows_are_inserted_and_merged(databases: Callable[..., str], spark: SparkSession):
    """An upsert updates and inserts, an append leaves rows alone that are there."""
    target = databases()
    sides.do(target, "CREATE TABLE t (id int PRIMARY KEY, name text)")
    keyed = ImportOptions(primary_key_column="id")

    imported = SqlServerImporter(spark).import_data(iter(named({1: "a", 2: "b"})), target, "t", keyed)
    upserted = UpsertMergeStrategy(spark).apply(named({2: "c", 3: "d"}), target, "t", keyed)
    appended = AppendOnlyMergeStrategy(spark).apply(named({3: "x", 4: "e"}), target, "t", keyed)

    assert (imported.success, imported.rows_imported) == (True, 2)
    assert (upserted.rows_inserted, upserted.rows_updated, upserted.rows_affected) == (1, 1, 2)
    assert appended.rows_inserted == 1
    assert rows(target, "t") == [(1, "a"), (2, "c"), (3, "d"), (4, "e")]


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.thorough
def test_rows_are_replaced_or_kept_as_versions(databases: Callable[..., str], spark: SparkSession):
    """A replacement leaves nothing of the rows before. Versions keep what held, each until the next one."""
    target = databases()
    for given in ({1: "a", 2: "b"}, {9: "z"}):
        ReplaceMergeStrategy(spark).apply(named(given), target, "t", MergeOptions(primary_key_column="id"))
    assert rows(target, "t") == [(9, "z")]

    versions = MergeOptions(primary_key_column="id", effective_date_column="since")
    for day, name in (("2024-01-01", "a"), ("2024-02-01", "b")):
        Scd2MergeStrategy(spark).apply([{"id": 1, "name": name, "since": day}], target, "v", versions)
    assert sorted(sides.ask(target, "SELECT name, is_current FROM v")) == [("a", False), ("b", True)]


def named(names: dict[int, str]) -> list[dict[str, Any]]:
    return [{"id": number, "name": name} for number, name in names.items()]


@pytest.mark.thorough
@pytest.mark.postgres
@pytest.mark.spark
def test_import_that_fails_says_why(databases: Callable[..., str], spark: SparkSession):
    """An import without a key returns a result without success; a merge alone raises the error."""
    result = SqlServerImporter(spark).import_data([{"id": 1}], databases(), "t")

    assert not result.success
    assert "what names a row" in (result.error_message or "")
    with pytest.raises(ConfigError, match="what names a row"):
        UpsertMergeStrategy(spark).apply([{"id": 1}], databases(), "t")


# Watermarks


@pytest.mark.postgres
@pytest.mark.parametrize("place", first_daily("file", "database", "property"))
def test_watermark_is_kept_and_read_again(tmp_path: Path, databases: Callable[..., str], place: str):
    """Each store returns what was kept last, and nothing of a table that it does not know."""
    IcebergAppender(tmp_path).append("a.b", [{"id": 1}])
    made: dict[str, Callable[[], WatermarkStore]] = {
        "file": lambda: FileWatermarkStore(tmp_path),
        "database": lambda: DatabaseWatermarkStore(databases()),
        "property": lambda: TablePropertyWatermarkStore(tmp_path),
    }
    store = made[place]()
    first = Watermark("a.b", START, None, 7, 100, datetime(2024, 1, 1, tzinfo=UTC))
    newest = Watermark("a.b", None, 12, 8, 101, datetime(2024, 1, 2, tzinfo=UTC))

    assert store.get_watermark("a.b") is None
    for watermark in (first, newest):
        store.set_watermark("a.b", watermark)
        assert store.get_watermark("a.b") == watermark
    if place == "file":
        assert (tmp_path / "watermarks" / "a.b.json").exists()


def test_change_tracking_is_no_single_query():
    """The strategy alone says by which door the feed is read."""
    from tidegate import ChangeTrackingDetection

    with pytest.raises(Unsupported, match="Use `SyncOptions"):
        ChangeTrackingDetection("postgresql://u@127.0.0.1/db").build_query("t")


@pytest.mark.thorough
def test_change_tracking_needs_a_source_that_has_it(
    coordinator: IncrementalSyncCoordinator, databases: Callable[[], str]
):
    """The mode reaches the engine, and a source without this feed is refused before a row moves."""
    source, target = databases(), databases()
    customers(source)
    options = SyncOptions(mode="change_tracking", primary_key_column="customer_id")
    result = coordinator.sync(source, "customers", "customers", target, "customers", options)
    assert not result.success and "change_tracking" in (result.error_message or "")
