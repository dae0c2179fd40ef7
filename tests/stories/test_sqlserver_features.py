"""What a project can ask for besides kinds of tables, from one SQL Server to another.

Triggers as a change feed, whole schemas by pattern, mapping, `create:`, triggers and foreign keys of the target, and
Tidegate's own tables. They need a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pymssql
import pytest
from click.testing import CliRunner

from conformance.servers.postgresql import Absent
from kit import sides
from kit.copied import Copied
from kit.sqlserver_witness import login
from kit.summary import GAPS
from stories.test_sqlserver import server
from tidegate import ChangeDetector, HybridSnapshotManager, IncrementalLoadManager, IncrementalSQLServerParquetPipeline
from tidegate.cli.main import main
from tidegate.config.urls import parse_connection
from tidegate.model.plan import Notice
from tidegate.plugins import database
from tidegate.state import own_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["server"]

STORE = "CREATE TABLE store (id int NOT NULL PRIMARY KEY, name varchar(20), manager int NOT NULL)"
STAFF = "CREATE TABLE staff (id int NOT NULL PRIMARY KEY, store int NOT NULL, boss int, name varchar(20))"


@pytest.fixture
def copied(server: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Copied]:
    if isinstance(server, Absent):
        request.config.stash[GAPS][str(server)] += 1
        pytest.skip(str(server))
    with ExitStack() as opened:
        urls = [opened.enter_context(server.database()) for _ in range(2)]
        yield Copied(urls[0], urls[1], tmp_path / "lake")


@pytest.fixture
def gap(request: pytest.FixtureRequest) -> Any:
    def skip(missing: str) -> None:
        request.config.stash[GAPS][missing] += 1
        pytest.skip(missing)

    return skip


def notices(copied: Copied, tables: dict[str, Any]) -> str:
    plan = copied.tidegate(tables).plan()
    return "\n".join(step.text for table in plan.tables for step in table.steps if isinstance(step, Notice))


def test_triggers_tell_changes_and_deletes(copied: Copied):
    """Also an UPDATE of a key, and a transaction that is rolled back."""
    copied.in_source("CREATE TABLE items (id int NOT NULL PRIMARY KEY, name varchar(40), price decimal(12,2))")
    copied.in_source("INSERT INTO items VALUES (1, 'a', 1.5), (2, 'b', 2.5), (3, 'c', NULL), (4, 'd', 4)")
    tidegate = copied.tidegate({"items": {"kind": "incremental", "changes": "triggers"}})
    tidegate.create_feed()
    tidegate.run()
    copied.assert_equal("SELECT * FROM items")
    copied.in_source("""
INSERT INTO items VALUES (5, 'new, "quoted"', 1.10);
UPDATE items SET name = NULL WHERE id < 3;
DELETE FROM items WHERE id = 3;
UPDATE items SET id = 50 WHERE id = 4;
BEGIN TRANSACTION; INSERT INTO items VALUES (99, 'never', 0); ROLLBACK TRANSACTION
""")
    assert tidegate.run().exit_code == 0
    copied.assert_equal("SELECT * FROM items")
    assert tidegate.verify().outcome == "equal"
    assert not tidegate.plan().does_something


def test_a_schema_is_copied_by_pattern(copied: Copied):
    """One table of it with other names, without a column, with another type, and only some rows; one is left out."""
    copied.in_source("EXEC('CREATE SCHEMA sales')")
    copied.in_source("""
CREATE TABLE sales.orders (id int NOT NULL PRIMARY KEY, region varchar(2), cust int, price decimal(38,10), secret int);
CREATE TABLE sales.lines (id int NOT NULL PRIMARY KEY, amount decimal(38,18));
CREATE TABLE sales.log_2024 (id int NOT NULL PRIMARY KEY);
INSERT INTO sales.orders VALUES (1, 'EU', 7, 12.34, 1), (2, 'US', 8, 1, 1), (3, 'EU', NULL, NULL, 1);
INSERT INTO sales.lines VALUES (1, 12345678901234567890.123456789012345678), (2, NULL);
INSERT INTO sales.log_2024 VALUES (1)
""")
    mapped = {
        "kind": "static",
        "where": "region = 'EU'",
        "columns": {"cust": {"name": "customer"}, "price": "decimal(19,4)", "secret": False},
    }
    tables: dict[str, Any] = {"sales.*": {"allow_deletes": True}, "sales.log_*": False, "sales.orders": mapped}
    tidegate = copied.tidegate(tables)
    tidegate.run()
    assert sides.ask(copied.target, "SELECT id, region, customer, price FROM sales.orders ORDER BY id") == [
        (1, "EU", 7, Decimal("12.3400")),
        (3, "EU", None, None),
    ]
    copied.assert_equal("SELECT * FROM sales.lines")
    assert sides.ask(copied.target, "SELECT OBJECT_ID('sales.log_2024')") == [(None,)]
    assert tidegate.verify().outcome == "equal"
    assert tidegate.run().outcome == "nothing to do"


def test_indexes_defaults_and_comments_are_created(copied: Copied):
    """Those of the source, with included columns and the order of each; a second run finds nothing missing."""
    copied.in_source("""
CREATE TABLE shelf (id int NOT NULL PRIMARY KEY, code varchar(9), place int DEFAULT (7), note varchar(9));
CREATE INDEX by_code ON shelf (code DESC, place);
CREATE UNIQUE INDEX only_once ON shelf (place, id);
CREATE INDEX with_note ON shelf (place) INCLUDE (note);
EXEC sys.sp_addextendedproperty 'MS_Description', 'where it''s kept', 'SCHEMA', 'dbo', 'TABLE', 'shelf',
  'COLUMN', 'place';
INSERT INTO shelf VALUES (1, 'a', 1, 'x'), (2, 'b', 2, 'y')
""")
    create = {"indexes": True, "defaults": True, "comments": True}
    tidegate = copied.tidegate({"shelf": {"kind": "static", "create": create}})
    tidegate.run()
    copied.assert_equal("SELECT * FROM shelf")
    indexed = (
        "SELECT c.name, ic.is_descending_key, ic.is_included_column, i.is_unique FROM sys.indexes AS i"
        " JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id"
        " JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id"
        " WHERE i.object_id = OBJECT_ID('shelf') AND i.is_primary_key = 0"
    )
    copied.assert_equal(indexed)
    copied.assert_equal("SELECT definition FROM sys.default_constraints")
    copied.assert_equal("SELECT CONVERT(nvarchar(100), value) FROM sys.extended_properties WHERE class = 1")
    assert tidegate.run().outcome == "nothing to do"


def test_triggers_are_bypassed_and_enabled_again(copied: Copied):
    """Rows come without them; a trigger that was disabled before stays so."""
    copied.in_source(f"{STORE};\nINSERT INTO store VALUES (1, 'north', 11), (2, 'south', 10)")
    copied.in_target(STORE)
    copied.in_target("CREATE TABLE noted (id int)")
    copied.in_target("CREATE TRIGGER audit ON store AFTER INSERT AS INSERT INTO noted SELECT id FROM inserted")
    copied.in_target("CREATE TRIGGER asleep ON store AFTER INSERT AS INSERT INTO noted VALUES (0)")
    copied.in_target("ALTER TABLE store DISABLE TRIGGER asleep")
    enabled = "SELECT name, is_disabled FROM sys.triggers WHERE parent_id = OBJECT_ID('store') ORDER BY name"
    before = sides.ask(copied.target, enabled)
    tables = {"store": {"kind": "static", "triggers": "bypass"}}
    assert "triggers of the target do not fire: audit" in notices(copied, tables)
    copied.tidegate(tables).run()
    copied.assert_equal("SELECT * FROM store")
    assert sides.ask(copied.target, "SELECT * FROM noted") == []
    assert sides.ask(copied.target, enabled) == before
    copied.in_target("INSERT INTO store VALUES (9, 'x', 1)")
    assert sides.ask(copied.target, "SELECT * FROM noted") == [(9,)]


def test_a_cycle_is_loaded_in_one_transaction(copied: Copied, gap: Any):
    """The server checks the foreign keys at the end, and trusts them afterwards."""
    copied.in_source(f"{STORE};\n{STAFF};\nINSERT INTO store VALUES (1, 'north', 11), (2, 'south', 10)")
    copied.in_source("INSERT INTO staff VALUES (10, 1, 12, 'Ada'), (11, 2, 10, 'Grace'), (12, 1, NULL, 'Edsger')")
    copied.in_target(f"{STORE};\n{STAFF}")
    copied.in_target("ALTER TABLE store ADD CONSTRAINT manages FOREIGN KEY (manager) REFERENCES staff (id)")
    copied.in_target("ALTER TABLE staff ADD CONSTRAINT works_at FOREIGN KEY (store) REFERENCES store (id)")
    tables = {name: {"kind": "static", "allow_deletes": True} for name in ("store", "staff")}
    assert "cycle with staff: all are loaded in one transaction, with" in notices(copied, tables)
    if not sets_constraints_aside(copied):
        gap("NOCHECK CONSTRAINT: a compatible server has none")
    copied.tidegate(tables).run()
    for name in tables:
        copied.assert_equal(f"SELECT * FROM {name}")  # noqa: S608 - our names
    assert sides.ask(copied.target, "SELECT count(*) FROM sys.foreign_keys WHERE is_not_trusted = 0") == [(2,)]
    copied.in_source("INSERT INTO staff VALUES (14, 99, NULL, 'Nobody')")
    report = copied.tidegate(tables).run(check=False)
    assert "works_at" in report.failures[0][1]


def sets_constraints_aside(copied: Copied) -> bool:
    """A compatible server refuses NOCHECK, or ignores it."""
    with pymssql.connect(**login(copied.target)) as connection, connection.cursor() as cursor:
        try:
            cursor.execute("ALTER TABLE store NOCHECK CONSTRAINT manages")
            cursor.execute("INSERT INTO store VALUES (77, 'x', 999)")
        except pymssql.Error:
            return False
        finally:
            connection.rollback()
    return True


def test_printed_statements_create_own_tables(copied: Copied):
    """`tidegate schema print` prints what a login without DDL rights lets somebody else run."""
    printed = CliRunner().invoke(main, ["schema", "print", "--for", "sqlserver", "--json"])
    for statement in json.loads(printed.output)["statements"]:
        sides.do(copied.target, statement)
    with database(parse_connection(copied.target)).connect("test") as session:
        assert own_tables.exist(session)


@pytest.mark.spark
def test_load_manager_keeps_watermarks_and_upserts(copied: Copied, spark: SparkSession):
    """Its tables are created where they are missing; a row that came and one that changed are counted."""
    manager = IncrementalLoadManager(copied.target, spark=spark)
    assert manager.get_last_watermark("sales", "events") is None
    rows = pd.DataFrame({"id": [1, 2], "name": ["a", "b"]})
    reached = manager.update_watermark("sales", "events", "2024-01-15T00:20:00", "event_time", "timestamp")
    first = manager.merge_incremental_load("events", rows, ["id"], "upsert", watermark=reached)
    assert (first.records_inserted, first.records_updated) == (2, 0)
    again = pd.DataFrame({"id": [2, 3], "name": ["changed", "c"]})
    second = manager.merge_incremental_load("events", again, ["id"], "upsert", watermark=reached)
    assert (second.records_inserted, second.records_updated) == (1, 1)
    found = sides.ask(copied.target, "SELECT id, name FROM events ORDER BY id")
    assert found == [(1, "a"), (2, "changed"), (3, "c")]
    watermark = manager.get_last_watermark("sales", "events")
    assert watermark is not None and watermark.watermark_value == "2024-01-15T00:20:00"


def test_snapshots_are_saved_and_compared(copied: Copied, postgres: Any):
    """The table of hashes in SQL Server, its archive in PostgreSQL, and its procedures."""
    with_archive = {"connection": copied.target, "archive": postgres.create_database("tds_archive")}
    manager = HybridSnapshotManager(**with_archive)
    try:
        first = pd.DataFrame({"AAG ORDER NUMBER": [f"A{n}" for n in range(9)], "pieces": range(9)})
        manager.save_snapshot(first, "GREYSON", "8b1a6e7a-7c0f-4a3c-9c1c-0d1c1f3b2a01")
        later = first.drop(index=[0]).reset_index(drop=True)
        later.loc[[1, 2], "pieces"] += 100
        found = ChangeDetector(manager).detect(later, customer_filter="GREYSON")
        assert found.rows == {"new": 0, "changed": 2, "unchanged": 6, "deleted": 1}
        second = manager.save_snapshot(later, "GREYSON", "8b1a6e7a-7c0f-4a3c-9c1c-0d1c1f3b2a02")
        pd.testing.assert_frame_equal(manager.load_snapshot(second), later)
        counted = sides.ask(copied.target, "SELECT count(*) FROM ORDERS_UNIFIED_SNAPSHOT")
        assert counted == [(17,)]
    finally:
        postgres.drop_database("tds_archive")


@pytest.mark.spark
def test_pipeline_of_the_schema_dbo(copied: Copied, spark: SparkSession, tmp_path: Path):
    """`IncrementalSQLServerParquetPipeline` as its users type it, with two kinds of tables and a second morning."""
    copied.in_source("""
CREATE TABLE daily_transactions (COBID int NOT NULL, id int NOT NULL, amount decimal(38,18));
CREATE TABLE currency_codes (currency_code varchar(3) NOT NULL PRIMARY KEY, name varchar(20));
INSERT INTO daily_transactions VALUES (20240801, 1, 1.5), (20240801, 2, 2.5), (20240802, 1, 3.5);
INSERT INTO currency_codes VALUES ('EUR', 'Euro'), ('CHF', 'Franken')
""")
    tables: dict[str, Any] = {
        "partition_tables": {"daily_transactions": {"partition_column": "COBID", "initial_load_count": 4}},
        "static_tables": {"currency_codes": {"primary_keys": ["currency_code"], "merge_strategy": "upsert"}},
    }
    pipeline = IncrementalSQLServerParquetPipeline(copied.source, copied.target, tmp_path / "parquet", spark=spark)
    done = pipeline.run_daily_incremental_pipeline(**tables)
    assert done["daily_transactions"]["rows_loaded"] == 3
    copied.in_source("UPDATE currency_codes SET name = 'Swiss franc' WHERE currency_code = 'CHF'")
    pipeline.run_daily_incremental_pipeline(**tables)
    for name in ("daily_transactions", "currency_codes"):
        copied.assert_equal(f"SELECT * FROM dbo.{name}")  # noqa: S608 - our names
    assert all(status["consistent"] for status in pipeline.get_pipeline_status(tables).values())
