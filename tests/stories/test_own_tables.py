"""The tables beside the ledger: created, upgraded, printed, and written by every run that moves rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kit import sides
from kit.orders import Orders
from kit.project import FRIDAY, SATURDAY, Story
from tidegate import Tidegate
from tidegate.cli.main import main
from tidegate.config.urls import parse_connection
from tidegate.errors import ConfigError, Unsupported
from tidegate.plugins import database
from tidegate.state import own_tables

if TYPE_CHECKING:
    from kit.mariadb import MariaDb

pytestmark = [pytest.mark.postgres]

EIGHT = [
    "cdc_events",
    "data_gaps",
    "duplicate_records",
    "incremental_config",
    "incremental_metrics",
    "late_arriving_data",
    "scd_history",
    "watermarks",
]


def test_run_writes_metrics_and_watermarks(story: Story):
    """Without the tables a run writes none. With them, each run that moves rows writes a row of metrics per table."""
    story.run()
    assert sides.ask(story.target, "SELECT to_regclass('tidegate.watermarks')") == [(None,)]
    assert story.tidegate().create_schema() == ["schema_versions", *own_tables.TABLES]
    assert story.tidegate().create_schema() == []
    story.fill(SATURDAY)
    run = story.run()
    story.run()
    metrics = sides.ask(
        story.target,
        "SELECT load_id, source_id, strategy, load_type, records_extracted, records_written, watermark_after, status"
        " FROM tidegate.incremental_metrics",
    )
    [(load_id, *rest)] = metrics
    assert load_id.startswith(run.run)
    assert rest == ["trades", "partition", "replace_partition", 200, 200, str(SATURDAY), "done"]
    found = sides.ask(story.target, "SELECT source_id, watermark_column, watermark_value FROM tidegate.watermarks")
    assert found == [("trades", "cob", str(SATURDAY))]


def test_watermark_that_was_changed_by_hand_is_healed(story: Story):
    story.tidegate().create_schema()
    story.run()
    story.in_target("UPDATE tidegate.watermarks SET watermark_value = '20990101'")
    story.fill(SATURDAY)
    story.run()
    assert sides.ask(story.target, "SELECT watermark_value FROM tidegate.watermarks") == [(str(SATURDAY),)]
    assert story.counts_in_target()[FRIDAY] == 200


def test_watermark_of_a_cursor_is_mirrored(orders: Orders):
    """A run writes how far the table is synced; whoever sets the watermark is named with the reason."""
    orders.tidegate().create_schema()
    orders.write(1, 2, at="2024-01-31 10:00:00.000001")
    orders.run()
    own = "tidegate." if sides.kind_of(orders.target) == "postgresql" else "tidegate_"
    query = f"SELECT source_id, watermark_value, reason FROM {own}watermarks"  # noqa: S608 - our name
    reached = orders.tidegate().watermark("orders").watermark
    assert sides.ask(orders.target, query) == [("orders", reached, None)]
    orders.tidegate().set_watermark("orders", None, who="Ada", why="read again")
    assert sides.ask(orders.target, query) == [("orders", None, "read again")]
    orders.run()
    assert sides.ask(orders.target, query) == [("orders", reached, None)]


def test_tables_of_a_project_can_stand_in_the_target(story: Story):
    """`tables: incremental_config`: without rows there the error says what to insert."""
    settings = story.configuration()
    trades = json.dumps(settings["tables"]["trades"])
    places = {**settings, "tables": "incremental_config", "spark": story.spark}
    with pytest.raises(ConfigError, match="no settings of the pipeline `tidegate`"):
        Tidegate(**places)
    story.tidegate().create_schema()
    story.in_target("INSERT INTO tidegate.incremental_config VALUES ('tidegate', 'trades', %s, 'now', 'Ada')", trades)
    assert Tidegate(**places).run().outcome == "done"
    assert story.counts_in_target()[FRIDAY] == 200
    story.in_target('UPDATE tidegate.incremental_config SET settings = \'{"kind": "partition", "bach": 1}\'')
    with pytest.raises(ConfigError, match="bach"):
        Tidegate(**places)


def test_older_tables_get_new_columns_and_newer_are_refused(database: str, mariadb: MariaDb):
    from tidegate import plugins

    for url in (database, mariadb.create_database("own_tables")):
        target = plugins.database(parse_connection(url))
        with target.connect("test") as session:
            assert own_tables.create(session) == ["schema_versions", *own_tables.TABLES]
            own = "tidegate." if sides.kind_of(url) == "postgresql" else "tidegate_"
            sides.do(url, f"ALTER TABLE {own}data_gaps DROP COLUMN reason")
            assert own_tables.create(session) == ["data_gaps.reason"]
            sides.do(url, f"DROP TABLE {own}watermarks")
            assert own_tables.create(session) == ["watermarks"]
            sides.do(url, f"UPDATE {own}schema_versions SET version = 99")  # noqa: S608 - our name
            with pytest.raises(Unsupported, match="of version 99"):
                own_tables.create(session)
    mariadb.drop_database("own_tables")


@pytest.mark.parametrize("kind", ["postgresql", "mysql", "sqlserver"])
def test_printed_statements_create_every_table(kind: str, postgres, mariadb: MariaDb):
    """What is printed for PostgreSQL and MySQL runs as it stands; SQL Server's is compared with its golden file."""
    printed = CliRunner().invoke(main, ["schema", "print", "--for", kind, "--json"])
    statements = json.loads(printed.output)["statements"]
    assert [name for name in EIGHT if not any(name in statement for statement in statements)] == []
    if kind == "sqlserver":
        golden = Path(__file__).parents[1] / "sql" / "golden" / kind / "own_tables_create.sql"
        assert all(statement in golden.read_text() for statement in statements)
        return
    server = {"postgresql": postgres, "mysql": mariadb}[kind]
    url = server.create_database("printed")
    for statement in statements:
        sides.do(url, statement)
    with database(parse_connection(url)).connect("test") as session:
        assert own_tables.exist(session)
    server.drop_database("printed")
