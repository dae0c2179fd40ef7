"""Iceberg tables that a REST catalog names: every kind of table, a target in the lake, and other writers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.project import database_on
from kit.rest_catalog import JARS, rest_catalog
from stories.test_table_lakes import TABLES, Shop
from tidegate import Tidegate

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.mysql,
    pytest.mark.thorough,
    pytest.mark.skipif(not JARS, reason="set TIDEGATE_TEST_REST_CATALOG to a folder with the jars of the server"),
]


@dataclass
class RestShop(Shop):
    """A shop whose Iceberg tables are named by a REST catalog."""

    catalog: str = field(default="", repr=False)

    def configuration(self) -> dict[str, Any]:
        lake = {"format": "iceberg", "path": str(self.lake), "catalog": self.catalog}
        orders = {"kind": "incremental", "changes": "timestamp", "timestamp_column": "since", "keys": ["id", "since"]}
        kept = {**orders, "source_table": "customers", "target": "lake"}
        return {**super().configuration(), "lake": lake, "tables": {**TABLES, "kept": kept}}

    def table(self, name: str) -> Table:
        from pyiceberg.catalog import load_catalog

        return load_catalog("rest", type="rest", uri=self.catalog).load_table(f"default.{name}")

    def outside(self, table: str) -> list[dict[str, Any]]:
        rows: pa.Table = self.table(table).scan().to_arrow()
        return [*rows.to_pylist()]


@pytest.fixture
def shop(postgres: EmbeddedPostgres, mariadb: MariaDb, tmp_path: Path) -> Iterator[RestShop]:
    with ExitStack() as opened:
        source = opened.enter_context(database_on(postgres))
        target = opened.enter_context(database_on(mariadb))
        address = opened.enter_context(rest_catalog(tmp_path / "lake", tmp_path))
        shop = RestShop(source, target, tmp_path / "lake", "iceberg", catalog=address)
        shop.open("postgresql")
        yield shop


def assert_kept(shop: RestShop) -> None:
    """Assert that the table that is kept in the lake has the customers of the source."""
    expected = Counter(sides.ask(shop.source, "SELECT id, name, since FROM customers"))
    assert Counter((row["id"], row["name"], row["since"]) for row in shop.outside("kept")) == expected


def test_every_kind_of_table(shop: RestShop):
    """A first run, a day of changes, and nothing left to do. Others see the source's rows through the catalog."""
    shop.run()
    shop.assert_in_step()
    shop.live()
    shop.run()
    shop.assert_in_step()
    shop.assert_readers_agree()
    assert_kept(shop)


def test_another_writer_between_runs(shop: RestShop):
    """Somebody deletes rows through the catalog: the next run brings them back."""
    shop.run()
    shop.table("trades").delete("cob = 20240102")
    shop.table("kept").delete("id = 1")
    assert len(shop.outside("kept")) == 2
    assert shop.run().outcome == "done"
    shop.assert_readers_agree()
    assert_kept(shop)
    shop.live()
    shop.run()
    shop.assert_in_step()


def test_history_and_cleaning(shop: RestShop):
    shop.run()
    shop.live()
    shop.run()
    with Tidegate(**shop.configuration()) as tidegate:
        assert len(tidegate.lake_history("trades")) >= 4
        tidegate.lake_clean(keep_days=0, dry_run=False)
    shop.assert_in_step()
    shop.assert_readers_agree()
