"""plan, status, explain and the HTML page of tables without partition values: static ones, and tables of versions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from tidegate.cli.main import main

pytestmark = [pytest.mark.postgres, pytest.mark.spark]

TABLES = """
CREATE TABLE currencies (code char(3) PRIMARY KEY, name text);
INSERT INTO currencies VALUES ('CHF', 'Franken'), ('EUR', 'Euro'), ('XXX', NULL);
CREATE TABLE customers (
    id int, name text, last_modified timestamp(6), is_latest boolean, PRIMARY KEY (id, last_modified)
);
CREATE INDEX ON customers (last_modified);
INSERT INTO customers SELECT number, 'first', localtimestamp - interval '3 hours', true
FROM generate_series(1, 5) AS number;
"""
SUPERSEDE = """
UPDATE customers SET is_latest = false WHERE id = 1;
INSERT INTO customers VALUES (1, 'second', localtimestamp - interval '1 hour', true);
"""
PROJECT = """
source: {source}
target: {target}
lake: ./lake
tables:
  currencies: {{kind: static}}
  customers: {{kind: scd2, cursor_column: last_modified, flag_column: is_latest}}
"""


@pytest.fixture
def sides(postgres, database, tmp_path, monkeypatch, spark) -> Iterator[tuple[str, str]]:
    target = postgres.create_database("status_target")
    do(database, TABLES)
    monkeypatch.chdir(tmp_path)
    Path("tidegate.yml").write_text(PROJECT.format(source=database, target=target))
    yield database, target
    postgres.drop_database("status_target")


def do(url: str, statements: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statements)


def call(*arguments: str) -> str:
    return CliRunner().invoke(main, [*arguments, *(["-q"] if arguments[0] in ("run", "verify") else [])]).stdout


def status(table: str) -> dict[str, Any]:
    (found,) = json.loads(call("status", table, "--json"))["tables"]
    return dict(found)


def test_static_table_shows_source_lake_and_target(sides):
    source, target = sides
    assert "3 rows in source (" in call("status", "currencies")
    assert "0 rows in target (-); never loaded" in call("status", "currencies")
    assert "currencies  scope the whole table\n" in call("plan")
    assert "  extract the whole table, 3 rows: new in the source\n" in call("plan")
    call("run")
    shown = call("status", "currencies")
    assert shown.startswith("currencies  in sync\n  3 rows in source, lake and target, content ")
    assert "; last loaded 20" in shown
    (whole,) = status("currencies")["values"]
    assert whole["state"] == "proven"
    assert len({whole[f"{side}_hash"] for side in ("source", "lake", "target", "ledger")}) == 1

    do(source, "DELETE FROM currencies WHERE code = 'XXX'")
    assert (status("currencies")["state"], status("currencies")["values"][0]["state"]) == ("pending", "pending")
    assert "2 rows in source (" in call("status", "currencies")
    call("run")
    (whole,) = status("currencies")["values"]
    assert (whole["state"], whole["contained"], whole["target_rows"]) == ("proven", True, 3)
    assert "which keeps rows that the source deleted; last loaded" in call("status", "currencies")

    do(target, "UPDATE currencies SET name = 'mine' WHERE code = 'EUR'")
    shown = call("explain", "currencies")
    assert shown.startswith("currencies  compared as a whole  differs\n")
    assert "  warning: somebody changed rows in the target; `tidegate repair` restores it\n" in shown
    assert f"  source              2  {whole['source_hash']}\n" in shown
    found = call("verify", "currencies")
    assert found.startswith("error: currencies: ")
    assert "(1 whole table, 3 rows in the target" in found


def test_table_of_versions_shows_its_watermark(sides):
    source, target = sides
    first = status("customers")
    assert (first["state"], first["watermark"], first["values"][0]["state"]) == ("pending", "", "pending")
    assert "; nothing is loaded yet; the newest cursor value of the source is 20" in call("status", "customers")
    planned = call("plan")
    assert "  extract rows from 20" in planned
    assert ", 5 versions: new in the source\n  load batch 20" in planned
    call("run")
    shown = call("status", "customers")
    assert shown.startswith("customers  in sync\n  scope from 20")
    assert " is loaded, from 1 batch; the target holds 5 versions; last loaded 20" in shown

    do(source, SUPERSEDE)
    late = status("customers")
    assert (late["state"], late["values"][0]["state"]) == ("pending", "pending")
    assert late["watermark"] < late["newest"]
    assert [batch["state"] for batch in late["batches"]] == ["proven"]
    explained = call("explain", "customers")
    assert "the newest last_modified of the source is " in explained
    assert ": changes in the source\n" in explained.partition("next: extract ")[2]
    call("run")
    now = status("customers")
    assert (now["state"], now["watermark"] == now["newest"], len(now["batches"])) == ("in sync", True, 2)
    assert now["values"][0]["target_rows"] == 6

    do(target, "DELETE FROM customers WHERE id = 2")
    assert (status("customers")["state"], status("customers")["values"][0]["state"]) == ("pending", "differs")
    call("run")
    do(target, "INSERT INTO customers VALUES (77, 'mine', localtimestamp, false)")
    assert status("customers")["state"] == "differs"
    do(target, "DROP TABLE customers")
    assert status("customers")["values"][0]["state"] == "missing"


def test_extracted_file_that_is_not_loaded_is_pending(sides):
    call("run")
    (file,) = Path("lake/organized/scd_customers").rglob("*.parquet")
    do(sides[1], "DELETE FROM tidegate.ledger WHERE table_name LIKE '%customers'")
    assert [batch["state"] for batch in status("customers")["batches"]] == ["pending"]
    file.write_bytes(b"PAR1")
    assert [(batch["state"], batch["rows"]) for batch in status("customers")["batches"]] == [("broken", None)]


def test_adopted_table_goes_on_with_batches(sides):
    _, target = sides
    do(target, TABLES.replace("'first'", "'theirs'"))
    assert "adopt: done" in call("adopt", "customers", "--yes")
    assert "; nothing is loaded yet; the target holds 5 versions; the newest cursor value of the source is 20" in call(
        "status", "customers"
    )
    call("run", "customers")
    (batch,) = status("customers")["batches"]
    assert re.fullmatch(r"\d{4}(-\d\d){5}", batch["batch"])


def test_page_shows_both_as_equal(sides):
    source, target = sides
    call("run")
    do(source, SUPERSEDE)
    do(source, "DELETE FROM currencies WHERE code = 'XXX'")
    call("run")
    assert "the target equals the source within its scope (2 whole tables, 9 rows in the target" in call("verify")
    page = Path(call("report").strip()).read_text()
    assert "<h1>Target equals source.</h1>" in page
    assert "2 tables, 9 rows: the target equals the source within the declared scope." in page
    assert "loaded up to" in page
    assert "Batches of customers" in page
    assert "out of scope" not in page

    do(target, "UPDATE currencies SET name = 'mine'")
    assert "currencies changed in the target after the load." in Path(call("report").strip()).read_text()


def test_table_without_versions_is_empty(sides):
    do(sides[0], "TRUNCATE customers")
    assert (status("customers")["state"], status("customers")["values"]) == ("empty", [])
    assert "; nothing is loaded yet; the newest cursor value of the source is none" in call("status", "customers")
