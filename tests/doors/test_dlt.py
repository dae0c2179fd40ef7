"""dlt: entries of the lake in DuckDB, in Parquet files and in Delta tables, and a table as a source of dlt."""

from __future__ import annotations

import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import dlt
import duckdb
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from kit.project import TESTS, child, cli
from kit.shop import Shop
from tidegate.dlt import deliver, plan, source, verify

pytestmark = [
    pytest.mark.postgres,
    # Of dlt and what it uses; none of ours.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

SALES = "SELECT cob, count(*), sum(id), count(note) FROM sales GROUP BY cob ORDER BY cob"


def duck(shop: Shop) -> Path:
    """Let the shop deliver to a DuckDB file, and return the file."""
    path = shop.folder / "warehouse.duckdb"
    shop.settings["dlt"] = {"destination": "duckdb", "dataset": "shop", "options": {"credentials": str(path)}}
    return path


def files(shop: Shop, **more: Any) -> Path:
    place = shop.folder / "files"
    shop.settings["dlt"] = {
        "destination": "filesystem",
        "dataset": "shop",
        "options": {"bucket_url": str(place)},
        **more,
    }
    return place / "shop"


def ask(path: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        connection.execute("SET schema = 'shop'")
        return connection.execute(query).fetchall()


def test_duckdb_holds_what_the_lake_holds(shop: Shop):
    """Each kind goes its own way; a second delivery has nothing to do; a restatement, an update and a delete follow."""
    path = duck(shop)
    shop.run()
    report = deliver(shop.tidegate())
    assert (report.failures, report.exit_code, report.rows, report.windows) == ((), 0, 352, 5)
    assert len(report.proofs) == 5
    assert ask(path, SALES) == [(20240101, 100, 15150, 80), (20240102, 100, 14950, 80), (20240103, 100, 15050, 80)]
    assert ask(path, "SELECT item, unit_price, raw, open_from::text, day::text FROM orders WHERE id = 3") == [
        ("tea", Decimal("3.75"), b"\x00\xff", "07:00:00.5", "2024-02-29")
    ]
    assert deliver(shop.tidegate()).windows == 0

    shop.in_source("UPDATE sales SET amount = -1, id = id + 1000 WHERE cob = 20240102")
    shop.in_source("DELETE FROM sales WHERE cob = 20240102 AND id < 1050")
    shop.in_source("DELETE FROM currencies WHERE code = 'JPY'")
    shop.in_source("UPDATE \"Orders\" SET item = 'coffee', updated_at = '2024-02-01' WHERE id <= 2")
    shop.run()
    assert [(one.table, one.windows) for one in plan(shop.tidegate()) if one.table == "sales"] == [
        ("sales", ("20240102",))
    ]
    report = deliver(shop.tidegate())
    assert (report.failures, report.exit_code) == ((), 0)
    assert ask(path, "SELECT code FROM currencies") == [("EUR",)]
    assert ask(path, "SELECT item, count(*) FROM orders GROUP BY item ORDER BY item") == [("coffee", 2), ("tea", 48)]
    assert ask(path, "SELECT count(*), min(amount), max(amount) FROM sales WHERE cob = 20240102") == [(83, -1, -1)]
    report = verify(shop.tidegate())
    assert (report.exit_code, [proof.window for proof in report.proofs if proof.table == "Orders"]) == (0, ["all rows"])


def test_table_that_became_empty_is_emptied(shop: Shop):
    """A replacement without any row is a replacement too."""
    path = duck(shop)
    shop.run()
    deliver(shop.tidegate(), "currencies")
    shop.in_source("DELETE FROM currencies")
    shop.run()
    assert deliver(shop.tidegate(), "currencies").exit_code == 0
    assert ask(path, "SELECT count(*) FROM currencies") == [(0,)]


@pytest.mark.thorough
def test_changed_row_of_the_destination_is_found(shop: Shop):
    """`dlt verify` names the windows that differ, and `--reload` mends them. Exit codes tell it to programs."""
    path = duck(shop)
    shop.run()
    assert cli("dlt", "load", "--config", shop.file())[0] == 0
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE shop.sales SET note = 'somebody' WHERE id = 1; DELETE FROM shop.orders WHERE id = 7")
    code, told, _ = cli("dlt", "verify", "--config", shop.file())
    assert code == 3
    assert "sales 20240102: 100 rows, of which some are not those of the lake" in told
    assert "Orders all rows: the lake has 50 rows, the destination 49" in told
    assert cli("dlt", "load", "--reload", "--config", shop.file())[0] == 0
    assert cli("dlt", "verify", "--config", shop.file())[0] == 0


@pytest.mark.parametrize(
    "moment",
    ["load", *(pytest.param(one, marks=pytest.mark.thorough) for one in ("normalize", "before the last word"))],
)
def test_killed_delivery_is_completed(shop: Shop, moment: str):
    """The process dies while dlt is at work; the next delivery ends with every row once."""
    path = duck(shop)
    shop.run()
    with child(TESTS / "kit" / "killed_delivery.py", shop.file(), moment) as process:
        process.communicate(timeout=200)
        assert process.returncode == 9, "it was to die"
    assert deliver(shop.tidegate()).exit_code == 0
    assert verify(shop.tidegate()).exit_code == 0
    assert [row[1] for row in ask(path, SALES)] == [100, 100, 100]


@pytest.mark.thorough
def test_working_files_may_be_lost(shop: Shop):
    """What was delivered is known by the destination, not by files of the machine that delivered it."""
    duck(shop)
    shop.run()
    deliver(shop.tidegate())
    shutil.rmtree(shop.folder / "lake" / ".tidegate" / "dlt")
    assert deliver(shop.tidegate()).windows == 0


@pytest.mark.thorough
def test_delta_tables_are_merged(shop: Shop):
    """Changes are merged by their key, everything else is replaced, and all of it is proved."""
    place = files(shop, table_format="delta")
    shop.run()
    assert (deliver(shop.tidegate()).failures, deliver(shop.tidegate()).windows) == ((), 0)
    shop.in_source("UPDATE \"Orders\" SET item = 'coffee', updated_at = '2024-02-01' WHERE id <= 2")
    shop.in_source("UPDATE sales SET amount = -1, id = id + 1000 WHERE cob = 20240102")
    shop.in_source("DELETE FROM sales WHERE id = 1001")
    shop.run()
    report = deliver(shop.tidegate())
    assert (report.failures, report.exit_code) == ((), 0)
    assert verify(shop.tidegate()).exit_code == 0
    rows = DeltaTable(str(place / "orders")).to_pyarrow_table().to_pylist()
    assert Counter(row["item"] for row in rows) == {"coffee": 2, "tea": 48}
    assert DeltaTable(str(place / "sales")).to_pyarrow_table().num_rows == 299


@pytest.mark.thorough
def test_parquet_files_take_what_they_can(shop: Shop):
    """Files merge nothing: the plan refuses changes with a way out, replaces the others, and appends when asked."""
    place = files(shop)
    shop.run()
    problems = {one.table: one.problem for one in plan(shop.tidegate())}
    assert "dispositions: {Orders: append}" in problems["Orders"] and not problems["sales"]
    shop.settings["dlt"]["dispositions"] = {"Orders": "append"}
    assert (deliver(shop.tidegate()).exit_code, verify(shop.tidegate()).exit_code) == (0, 0)
    assert pq.read_table(place / "orders").num_rows == 50
    assert deliver(shop.tidegate()).windows == 0
    shop.in_source("UPDATE \"Orders\" SET item = 'coffee', updated_at = '2024-02-01' WHERE id <= 2")
    shop.run()
    assert deliver(shop.tidegate()).exit_code == 0
    assert Counter(pq.read_table(place / "orders")["item"].to_pylist())["coffee"] == 2


def test_table_is_a_source_of_dlt(shop: Shop):
    """A pipeline of the user's own: new entries only, with the write disposition that fits, and hints that he gives."""
    shop.run()
    path = shop.folder / "own.duckdb"

    def load() -> Any:
        pipeline = dlt.pipeline(
            "own", destination=dlt.destinations.duckdb(str(path)), dataset_name="shop", pipelines_dir=str(shop.folder)
        )
        info = pipeline.run(source(shop.file(), "sales", "Orders"))
        info.raise_on_failed_jobs()
        return pipeline.last_trace.last_normalize_info.row_counts

    assert {name: rows for name, rows in load().items() if not name.startswith("_")} == {"sales": 300, "orders": 50}
    assert not {"sales", "orders"} & {name for name, rows in load().items() if rows}
    shop.in_source("UPDATE \"Orders\" SET item = 'coffee', updated_at = '2024-02-01' WHERE id <= 2")
    shop.in_source("UPDATE sales SET amount = -1 WHERE cob = 20240103")
    shop.in_source("DELETE FROM sales WHERE id = 2")
    shop.run()
    load()
    assert ask(path, "SELECT item, count(*) FROM orders GROUP BY item ORDER BY item") == [("coffee", 2), ("tea", 48)]
    assert [row[1] for row in ask(path, SALES)] == [100, 100, 99]


def test_secrets_of_a_destination_are_hidden(shop: Shop):
    shop.settings["dlt"] = {
        "destination": "postgres",
        "dataset": "shop",
        "options": {"credentials": "postgresql://loader:hush-hush@127.0.0.1:1/nowhere"},
    }
    code, told, errors = cli("dlt", "load", "--config", shop.file())
    assert code == 1
    assert "hush-hush" not in told + errors
