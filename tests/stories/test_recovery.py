"""The stories of docs/recovery*.md, told with the commands that the pages show."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit import sides
from kit.project import database_on
from kit.shop import Shop

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres]

CUSTOMERS = """
CREATE TABLE customers (customer_id int, name text, "LastModified" timestamp(6), "IsLatest" int)
"""
VERSIONS = 'SELECT customer_id, name, "IsLatest" FROM customers ORDER BY customer_id, "LastModified"'


@pytest.fixture
def shop(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Shop]:
    with database_on(postgres) as source, database_on(postgres) as target:
        shop = Shop(source, target, tmp_path).open()
        sides.do(source, CUSTOMERS)
        sides.do(
            source,
            "INSERT INTO customers"
            " SELECT n, v, timestamp '2024-01-01' + n * interval '1 minute' + d * interval '1 day', d"
            " FROM generate_series(1, 9) AS n, (VALUES ('old', 0), ('new', 1)) AS versions(v, d)",
        )
        tables = {
            "sales": {"kind": "partition", "partition_column": "cob", "initial_load_count": "all"},
            "customers": {"kind": "scd2", "business_keys": ["customer_id"], "initial_load": "full"},
        }
        shop.settings["tables"] = tables
        shop.run()
        yield shop


def assert_healed(shop: Shop) -> None:
    assert shop.tidegate().verify().outcome == "equal"
    assert not shop.tidegate().plan().does_something
    assert sides.ask(shop.target, VERSIONS) == sides.ask(shop.source, VERSIONS)


def test_deleted_files_come_back(shop: Shop):
    shutil.rmtree(shop.folder / "lake" / "organized" / "cob_20240102")
    report = shop.tidegate().run()
    assert [(step.step, step.value) for step in report.steps if step.outcome == "done"] == [("extract", "20240102")]
    assert_healed(shop)


def test_lost_rows_come_from_the_lake(shop: Shop):
    """The source is not read for them."""
    sides.do(shop.target, "DELETE FROM sales WHERE cob = 20240102")
    report = shop.tidegate().run()
    assert [(step.step, step.value, step.rows) for step in report.steps] == [("load", "20240102", 100)]
    assert_healed(shop)


def test_a_dropped_table_is_made_again(shop: Shop):
    sides.do(shop.target, "DROP TABLE sales")
    shop.run()
    assert_healed(shop)


def test_changes_by_hand_are_repaired(shop: Shop):
    sides.do(shop.target, "UPDATE sales SET amount = 0 WHERE id = 4")
    found = shop.tidegate().verify("sales", deep=True)
    assert found.exit_code == 3
    shop.tidegate().repair("sales")
    assert_healed(shop)


def test_wrong_flags_are_repaired(shop: Shop):
    sides.do(shop.target, 'UPDATE customers SET "IsLatest" = 0 WHERE customer_id = 7')
    assert shop.tidegate().verify("customers").exit_code == 3
    shop.tidegate().repair("customers")
    assert_healed(shop)


def test_several_current_versions_become_one(shop: Shop):
    sides.do(shop.target, 'UPDATE customers SET "IsLatest" = 1 WHERE customer_id IN (3, 4)')
    assert shop.tidegate().verify("customers").exit_code == 3
    shop.tidegate().repair("customers")
    assert_healed(shop)


def test_missing_versions_come_back(shop: Shop):
    sides.do(shop.target, 'DELETE FROM customers WHERE customer_id < 5 AND "IsLatest" = 0')
    assert shop.tidegate().verify("customers").exit_code == 3
    shop.tidegate().repair("customers")
    assert_healed(shop)
