"""Whole schemas by pattern, and kinds that the catalog decides once."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from kit import sides
from kit.pairs import first_daily
from tidegate.errors import ConfigError

if TYPE_CHECKING:
    from kit.copied import Copied, Copies

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

SHOP = """
CREATE SCHEMA sales;
CREATE TABLE sales.orders (id integer PRIMARY KEY, total numeric(10,2));
CREATE TABLE sales.order_lines (order_id integer, line integer, note text, PRIMARY KEY (order_id, line));
CREATE TABLE sales.log_visits (at timestamp, note text);
CREATE TABLE employees (id integer PRIMARY KEY, name text);
INSERT INTO sales.orders SELECT n, n * 1.5 FROM generate_series(1, 30) AS n;
INSERT INTO sales.order_lines SELECT n, 1, 'first' FROM generate_series(1, 30) AS n;
INSERT INTO sales.log_visits VALUES ('2024-01-01', 'left out');
INSERT INTO employees VALUES (1, 'Ada'), (2, 'Grace')
"""


@pytest.fixture
def shop(copies: Copies) -> Copied:
    found = copies()
    found.in_source(SHOP)
    return found


def kinds(found: Copied, tables: dict[str, object], **settings: object) -> dict[str, str]:
    return {table.table: table.kind for table in found.tidegate(tables, **settings).plan().tables}


def test_a_pattern_copies_a_schema(shop: Copied):
    """Everything of `sales` but the logs, and a table without any setting."""
    tables = {"sales.*": {"allow_deletes": True}, "sales.log_*": False, "employees": None}
    with shop.tidegate(tables) as tidegate:
        assert tidegate.run().outcome == "done"
        assert tidegate.verify().outcome == "equal"
    shop.assert_equal("SELECT * FROM sales.orders")
    shop.assert_equal("SELECT * FROM sales.order_lines")
    shop.assert_equal("SELECT * FROM employees")
    assert sides.ask(shop.target, "SELECT to_regclass('sales.log_visits')") == [(None,)]
    sides.do(shop.source, "DELETE FROM sales.orders WHERE id = 7")
    shop.tidegate(tables).run()
    shop.assert_equal("SELECT * FROM sales.orders")


@pytest.mark.thorough
def test_settings_of_a_table_win_over_those_of_patterns(shop: Copied):
    tables = {"*": {"kind": "static"}, "sales.log_*": {"merge_strategy": "replace"}, "employees": {"kind": "auto"}}
    project = shop.tidegate(tables).project
    assert project.tables["sales.log_visits"].merge_strategy == "replace"  # type: ignore[attr-defined]
    assert kinds(shop, tables) == dict.fromkeys(
        ["employees", "sales.log_visits", "sales.order_lines", "sales.orders"], "static"
    )


@pytest.mark.parametrize("lost", first_daily("nothing", "ledger", "lake"))
def test_a_decided_kind_is_remembered(shop: Copied, lost: str):
    """A static table that grows stays static: ledger and lake both know it, and each restores the other."""
    shop.tidegate({"employees": None}).run()
    if lost == "ledger":
        sides.do(shop.target, "DROP SCHEMA tidegate CASCADE")
    if lost == "lake":
        shutil.rmtree(shop.lake)
    shop.in_source("""
ALTER TABLE employees ADD COLUMN last_modified timestamp NOT NULL DEFAULT '2024-01-01';
INSERT INTO employees SELECT n, 'many' FROM generate_series(3, 150000) AS n;
ANALYZE employees
""")
    assert kinds(shop, {"employees": None}) == {"employees": "static"}
    assert kinds(
        shop, {"employees": {"kind": "incremental", "timestamp_column": "last_modified", "id_column": "id"}}
    ) == {"employees": "incremental"}


@pytest.mark.parametrize("new_tables", ["report", "sync"])
def test_a_new_table_is_noticed(shop: Copied, new_tables: str):
    tables = {"sales.*": None}
    shop.tidegate(tables, new_tables=new_tables).run()
    shop.in_source("""
CREATE TABLE sales.returns (id integer PRIMARY KEY);
INSERT INTO sales.returns VALUES (1);
DROP TABLE sales.log_visits
""")
    plan = shop.tidegate(tables, new_tables=new_tables).plan()
    [about_new, about_gone] = [note for note in plan.notes if "source" in note]
    assert about_gone == "no longer in the source: sales.log_visits. Their rows stay in the target"
    report = shop.tidegate(tables, new_tables=new_tables).run(check=False)
    if new_tables == "sync":
        assert about_new == "new in the source, taken from now on: sales.returns"
        shop.assert_equal("SELECT * FROM sales.returns")
    else:
        assert about_new.startswith("new in the source, not copied: sales.returns. `new_tables: sync` takes them")
        assert [finding.what for finding in report.findings if finding.severity == "warning"] == [about_new]
        assert "sales.returns" not in [table.table for table in plan.tables]


def test_settings_choose_the_kind(shop: Copied):
    """A table whose settings only one kind has is of that kind, whatever the catalog proposes."""
    tables = {"sales.log_visits": {"partition_column": "at"}}
    assert kinds(shop, tables) == {"sales.log_visits": "partition"}


def test_patterns_without_a_match_are_refused(shop: Copied):
    with pytest.raises(ConfigError, match=r"No table of the source matches archive\.\*"):
        shop.tidegate({"archive.*": {}}).plan()


@pytest.mark.thorough
def test_five_schemas_go_into_one_database_of_mysql(copies: Copies):
    found = copies("postgresql", "mysql")
    found.in_source(SHOP)
    with found.tidegate({"*": {"target_table": "{schema}_{table}"}}) as tidegate:
        assert tidegate.run().outcome == "done"
        assert tidegate.verify().outcome == "equal"
    found.assert_equal("SELECT id, total FROM sales.orders", "SELECT id, total FROM sales_orders")
    found.assert_equal("SELECT id, name FROM employees", "SELECT id, name FROM public_employees")


def test_schemas_are_mapped(shop: Copied):
    with shop.tidegate({"*": None}, schema_map={"sales": "verkauf", "public": "common"}) as tidegate:
        tidegate.run()
    shop.assert_equal("SELECT * FROM sales.orders", "SELECT * FROM verkauf.orders")
    shop.assert_equal("SELECT * FROM employees", "SELECT * FROM common.employees")


def test_two_tables_for_one_target_are_refused(shop: Copied):
    shop.in_source("CREATE TABLE orders (id integer PRIMARY KEY)")
    with pytest.raises(ConfigError, match="one writer per target table"):
        shop.tidegate({"*": {"target_table": "all.{table}"}}).plan()


def test_the_decision_has_its_settings(shop: Copied):
    shop.tidegate({"employees": None}).run()
    [(scope,)] = sides.ask(shop.target, "SELECT scope FROM tidegate.scopes WHERE table_name = 'public.employees'")
    settings = json.loads(json.loads(scope)["settings"])
    assert settings == {"kind": "static", "primary_keys": ["id"], "merge_strategy": "upsert"}
