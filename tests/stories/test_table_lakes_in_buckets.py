"""Iceberg and Delta in object storage: every kind of table, catalogs on a server, readers from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import obstore
import pyarrow as pa
import pytest

from kit import sides
from kit.project import database_on
from kit.s3 import S3Server, s3_server
from stories.test_table_lakes import FORGET, Shop
from tidegate import Tidegate
from tidegate.errors import Unsupported
from tidegate.storage.objects import Bucket

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

CASES = [("iceberg", "postgresql", "mysql"), ("delta", "postgresql", "postgresql")]


@dataclass
class BucketShop(Shop):
    """A shop whose lake lies in a bucket. Its Iceberg tables are named by a PostgreSQL database."""

    server: S3Server | None = field(default=None, repr=False)
    url: str = ""
    catalog: str = field(default="", repr=False)

    def configuration(self) -> dict[str, Any]:
        assert self.server is not None
        lake = {"format": self.format, "path": self.url, "store": self.server.options}
        if self.format == "iceberg":
            lake["catalog"] = self.catalog
        return {**super().configuration(), "lake": lake}

    def outside(self, table: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._arrow(table).to_pylist()
        return rows

    def _arrow(self, table: str) -> pa.Table:
        assert self.server is not None
        options = self.server.options
        if self.format == "delta":
            from deltalake import DeltaTable
            from deltalake.query import QueryBuilder

            store = {f"aws_{name}": value for name, value in options.items()} | {"aws_allow_http": "true"}
            opened = DeltaTable(f"{self.url}/{self._schema}/{table}", storage_options=store)
            return pa.table(QueryBuilder().register("rows", opened).execute("SELECT * FROM rows"))
        from pyiceberg.catalog.sql import SqlCatalog

        files = {f"s3.{name.replace('_', '-')}": value for name, value in options.items()}
        uri = self.catalog.replace("postgresql:", "postgresql+psycopg:", 1)
        catalog = SqlCatalog("tidegate", uri=uri, warehouse=self.url, **files)
        try:
            return catalog.load_table((self._schema, table)).scan().to_arrow()
        finally:
            catalog.close()

    @property
    def _schema(self) -> str:
        return "default"

    def objects(self) -> list[str]:
        assert self.server is not None
        store = Bucket.of(self.url, self.server.options)._store
        return sorted(meta["path"] for batch in obstore.list(store) for meta in batch)

    def lose(self, path: str) -> None:
        assert self.server is not None
        obstore.delete(Bucket.of(self.url, self.server.options)._store, path)


Shops = Callable[..., BucketShop]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        started.make_bucket("tables")
        yield started


@pytest.fixture
def shops(postgres: EmbeddedPostgres, mariadb: MariaDb, server: S3Server, tmp_path: Path) -> Iterator[Shops]:
    servers: dict[str, Any] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:

        def make(name: str, source: str, target: str, spark: SparkSession | None = None) -> BucketShop:
            prod, uat = (opened.enter_context(database_on(servers[kind])) for kind in (source, target))
            catalog = opened.enter_context(database_on(postgres))
            url = f"s3://tables/{tmp_path.name}"
            shop = BucketShop(prod, uat, tmp_path / "none", name, spark, server, url, catalog)
            shop.open(source)
            return shop

        yield make


@pytest.mark.parametrize(("name", "source", "target"), CASES)
def test_every_kind_is_kept_in_sync_through_a_bucket(shops: Shops, name: str, source: str, target: str):
    """Tables of every kind go through a bucket and back; a lost file and a lost ledger heal; nothing is left behind."""
    shop = shops(name, source, target)

    shop.run()
    shop.assert_in_step()
    shop.assert_readers_agree()
    shop.live()
    shop.run()
    shop.assert_in_step()
    shop.assert_readers_agree()

    shop.lose(next(path for path in shop.objects() if "/trades/data/" in f"/{path}"))
    shop.run()
    shop.assert_in_step()
    sides.do(shop.target, FORGET[target])
    shop.run()
    shop.assert_in_step()
    assert shop.run().outcome == "nothing to do"
    assert not [path for path in shop.objects() if "/runs/" in path]


@pytest.mark.thorough
@pytest.mark.spark
@pytest.mark.parametrize("name", ["iceberg", pytest.param("delta", marks=pytest.mark.thorough)])
def test_spark_tasks_write_a_bucket_and_read_it(
    shops: Shops, spark: SparkSession, capsys: pytest.CaptureFixture[str], name: str
):
    """Spark tasks put the files and read them as a DataFrame, with neither jars nor credentials in the plan."""
    shop = shops(name, "postgresql", "postgresql", spark)
    shop.run()
    shop.live()
    shop.run()

    shop.assert_in_step()
    frame = shop.tidegate().dataframe("trades")
    assert frame.count() == sum(shop.rows(shop.source, "SELECT cob, id FROM trades").values())
    frame.explain(True)
    assert "secret-of-tests" not in capsys.readouterr().out
    first = next(version for version in shop.tidegate().lake_history("trades") if version.rows)
    assert shop.tidegate().dataframe("trades", as_of=first.id).count() == first.rows


def test_warehouse_in_a_bucket_needs_a_catalog(server: S3Server):
    """Without a catalog the error names the three that there are, before anything is read."""
    with pytest.raises(Unsupported, match="no file can be the catalog"):
        Tidegate(
            source="postgresql://reader@127.0.0.1/prod",
            target="postgresql://writer@127.0.0.1/uat",
            lake={"format": "iceberg", "path": "s3://tables/none", "store": server.options},
            tables={"trades": {"kind": "partition", "partition_column": "cob"}},
        )
