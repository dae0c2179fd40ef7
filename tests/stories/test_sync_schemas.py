"""`tidegate sync`: source database and target schema are chosen per run, tables are listed in `conf/tables.yml`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from kit.mariadb import MariaDb
from kit.mysql_witness import opened
from kit.project import cli, database_on
from kit.witness import Witness
from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres]

TABLES = """\
# conf/tables.yml
tables:
  - name: "settlement.settlement_claim_detail"
    cdc_strategy: "hybrid" # Recommended default
    cdc_timestamp_column: "update_at"
    cdc_id_column: "ID"

  - name: "marketing.leads"
    cdc_strategy: "hybrid"
    cdc_timestamp_column: "modified_time"
    cdc_id_column: "lead_id"

  - name: "warehouse.products" # A dimension table without a timestamp
    cdc_strategy: "full_sync" # Safest fallback
"""
CLAIMS = """
CREATE TABLE settlement_claim_detail (ID bigint PRIMARY KEY, amount decimal(12,2), update_at datetime, KEY (update_at));
INSERT INTO settlement_claim_detail SELECT seq, seq / 4, '2024-01-01 10:00:00' FROM seq_1_to_300
"""
LEADS = """
CREATE TABLE leads (lead_id int PRIMARY KEY, name varchar(40), modified_time timestamp(6) NULL, KEY (modified_time));
INSERT INTO leads SELECT seq, concat('lead ', seq), '2024-01-01 10:00:00.123456' FROM seq_1_to_50
"""
PRODUCTS = """
CREATE TABLE products (product_id int PRIMARY KEY, title varchar(40));
INSERT INTO products SELECT seq, concat('product ', seq) FROM seq_1_to_20
"""


@dataclass
class Place:
    """A folder with `conf/tables.yml`, a MariaDB server as source and a database of PostgreSQL as target."""

    server: MariaDb
    target: str
    folder: Path

    def write(self, tables: str, settings: str = "") -> None:
        (self.folder / "conf").mkdir(exist_ok=True)
        (self.folder / "conf" / "tables.yml").write_text(tables)
        if settings:
            (self.folder / "tidegate.yml").write_text(settings)

    def database(self, name: str, script: str) -> None:
        self.server.drop_database(name)
        self.server.create_database(name)
        self.do(name, script)

    def do(self, name: str, script: str) -> None:
        with closing(opened(self.server.url(name))) as connection, connection.cursor() as cursor:
            for statement in script.split(";"):
                cursor.execute(statement)
            connection.commit()

    def sync(self, source: str, schema: str, *words: str, code: int = 0) -> str:
        """Run the command in the folder, with all connections in the environment."""
        environment = {
            "TIDEGATE_SOURCE": self.server.url(),
            "TIDEGATE_TARGET": self.target,
            "TIDEGATE_LAKE": "lake",
        }
        command = ["sync", "--source-db", source, "--target-schema", schema, *words, "--engine", "process"]
        found, output, errors = cli(*command, cwd=self.folder, environment=environment)
        assert found == code, output + errors
        return output + errors

    def ask(self, question: str | sql.Composable) -> list[tuple[Any, ...]]:
        with Witness(self.target) as witness:
            return witness.ask(question)

    def batches(self) -> list[str]:
        """Return the batches in the lake."""
        lake = self.folder / "lake"
        return sorted(str(path.relative_to(lake)) for path in lake.rglob("*.parquet") if not path.name.startswith("_"))


@pytest.fixture
def place(mariadb: MariaDb, postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Place]:
    with database_on(postgres) as target:
        yield Place(mariadb, target, tmp_path)


def test_documented_tables_file_works_as_it_stands(place: Place):
    """Three databases go to three schemas, each by its strategy. A second run brings what changed."""
    place.write(TABLES)
    runs = {"settlement": "settlement_claim_detail", "marketing": "leads", "warehouse": "products"}
    for name, script in zip(runs, (CLAIMS, LEADS, PRODUCTS), strict=True):
        place.database(name, script)

    for database, table in runs.items():
        assert place.sync(database, f"reporting_{database}", "--tables", table).startswith("run: done")
    # The time stays that of the newest row: rows of one second are told apart by more than their time.
    place.do("settlement", "UPDATE settlement_claim_detail SET amount = 0 WHERE ID = 7")
    place.do("marketing", "INSERT INTO leads VALUES (51, 'new', '2024-01-01 10:00:00.123456')")
    place.do("warehouse", "DELETE FROM products WHERE product_id = 3")
    for database, table in runs.items():
        assert "failed" not in place.sync(database, f"reporting_{database}", "-t", table)

    assert place.ask("SELECT count(*), sum(amount) FROM reporting_settlement.settlement_claim_detail") == [
        (300, Decimal(45150 - 7) / 4)
    ]
    assert place.ask("SELECT count(*), max(name) FROM reporting_marketing.leads") == [(51, "new")]
    assert place.ask("SELECT count(*) FROM reporting_warehouse.products") == [(19,)]


def test_several_tables_of_one_call(place: Place):
    """`--tables customers -t orders`, with a dry run first, and the report as JSON."""
    place.write("tables:\n  - name: customers\n    cdc_strategy: full_sync\n  - name: sales_db.orders\n")
    customers = PRODUCTS.replace("products", "customers")
    orders = LEADS.replace("leads", "orders").replace("modified_time", "update_at")
    place.database("sales_db", f"{customers};{orders}")

    words = ("--tables", "customers", "-t", "orders", "--json")
    planned = json.loads(place.sync("sales_db", "reporting_sales", *words, "--dry-run"))
    assert [table["table"] for table in planned["tables"]] == ["customers", "orders"]
    assert place.batches() == []
    report = json.loads(place.sync("sales_db", "reporting_sales", *words))
    assert (report["outcome"], report["rows_loaded"]) == ("done", 70)
    assert [key.rpartition("/year=")[0] for key in place.batches()] == [
        "incremental/sales_db/reporting_sales/customers",
        "incremental/sales_db/reporting_sales/orders",
    ]


HOSTILE = ("sales db", "sales_db%2Fx", "säles/../db", "year=2024", "_hidden", "a.b")


@pytest.mark.parametrize("name", [HOSTILE[2], *(pytest.param(name, marks=pytest.mark.thorough) for name in HOSTILE)])
def test_databases_and_schemas_never_share_a_place(place: Place, name: str):
    """Tables of an equal name, of two databases and for two schemas, under names that look like paths."""
    place.write(f"tables:\n  - name: '\"{name}\"'\n    cdc_strategy: hybrid\n    cdc_timestamp_column: modified_time\n")
    for number, database in enumerate((name, "plain_db")):
        place.database(database, LEADS.replace("leads", f"`{name}`").replace("'lead '", f"'{number} '"))

    for database in (name, "plain_db"):
        for schema in (f"{name}1", f"of {database}"):
            if (database, schema) != ("plain_db", f"{name}1"):
                place.sync(database, schema, "-t", name)

    count = sql.SQL("SELECT count(*), min(left(name, 2)) FROM {}")
    for schema, number in ((f"{name}1", 0), (f"of {name}", 0), ("of plain_db", 1)):
        assert place.ask(count.format(sql.Identifier(schema, name))) == [(50, f"{number} ")]
    assert len({key.rpartition("/year=")[0] for key in place.batches()}) == 3
    refused = place.sync("plain_db", f"{name}1", "-t", name, code=1)
    assert "rows of two databases would replace each other" in refused


def test_changed_strategy_reads_the_table_anew(place: Place):
    """`full_sync` becomes `hybrid`: entries of both lie in one folder, and each strategy sees its own."""
    place.database("sales_db", LEADS)
    place.write("tables:\n  - name: leads\n    cdc_strategy: full_sync\n")
    place.sync("sales_db", "reporting", "-t", "leads")
    place.write("tables:\n  - name: leads\n    cdc_strategy: hybrid\n    cdc_timestamp_column: modified_time\n")
    place.do("sales_db", "UPDATE leads SET name = 'changed', modified_time = '2024-02-01' WHERE lead_id = 1")
    place.sync("sales_db", "reporting", "-t", "leads")
    assert place.ask("SELECT count(*), min(name) FROM reporting.leads") == [(50, "changed")]


def test_unknown_table_names_the_nearest(place: Place):
    place.write(TABLES)
    refused = place.sync("marketing", "reporting", "-t", "lead", code=2)
    assert "Did you mean leads?" in refused
    refused = place.sync("sales_db", "reporting", "-t", "leads", code=2)
    assert "marketing.leads" in refused


def test_lost_batch_is_extracted_again(place: Place):
    """Somebody deletes a batch of the lake and the rows of the target: the next run brings both back."""
    place.database("sales_db", LEADS)
    place.write("tables:\n  - name: leads\n    cdc_strategy: hybrid\n    cdc_timestamp_column: modified_time\n")
    place.sync("sales_db", "reporting", "-t", "leads")
    [key] = place.batches()
    (place.folder / "lake" / key).unlink()
    with Witness(place.target) as witness:
        witness.do("DELETE FROM reporting.leads WHERE lead_id < 10")
    for _ in range(2):
        place.sync("sales_db", "reporting", "-t", "leads")
    assert place.ask("SELECT count(*) FROM reporting.leads") == [(50,)]


def test_explain_prints_queries_of_the_next_run(place: Place):
    """`explain --sql` of a table in conf/tables.yml: all rows first, then those from the watermark on."""
    place.database("sales_db", LEADS)
    place.write("tables:\n  - {name: leads, cdc_strategy: hybrid, cdc_timestamp_column: modified_time}\n")
    environment = {"TIDEGATE_SOURCE": place.server.url(), "TIDEGATE_TARGET": place.target, "TIDEGATE_LAKE": "lake"}
    words = ("explain", "leads", "--sql", "--source-db", "sales_db", "--target-schema", "reporting", "--json")

    def told() -> list[str]:
        code, output, errors = cli(*words, cwd=place.folder, environment=environment)
        assert code == 0, output + errors
        return [*json.loads(output).values()]

    [first] = told()
    assert first.startswith("SELECT `lead_id`, `name`, `modified_time` FROM `sales_db`.`leads` WHERE")
    place.sync("sales_db", "reporting", "-t", "leads")
    assert told() == []
    place.do("sales_db", "INSERT INTO leads VALUES (51, 'new', '2024-02-01')")
    [later] = told()
    # The look-back is ten minutes, and the newest row is the upper bound.
    assert later.endswith(
        "WHERE `modified_time` >= CAST('2024-01-01 09:50:00' AS DATETIME(6))"
        " AND `modified_time` <= CAST('2024-02-01 00:00:00' AS DATETIME(6))"
    )
