"""MariaDB to a double of Redshift, by way of a bucket. `kit/redshift.py` says what the double shows, and what not."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from psycopg import sql

from kit.mariadb import MariaDb
from kit.mysql_witness import opened
from kit.project import child, cli, database_on
from kit.redshift import Cut, RedshiftDouble
from kit.s3 import S3Server, s3_server
from kit.witness import Witness
from tidegate import Tidegate
from tidegate.config.per_run import Chosen, project_of
from tidegate.config.urls import parse_connection
from tidegate.databases.redshift.credentials import temporary_login
from tidegate.demo.embedded import EmbeddedPostgres
from tidegate.errors import Unreachable, Unsupported
from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres]

TABLES = """\
tables:
  - name: customers
    cdc_strategy: full_sync
  - name: sales_db.orders
    cdc_strategy: "hybrid"
    cdc_timestamp_column: "update_at"
    cdc_id_column: "ID"
"""
SALES = """
CREATE TABLE customers (customer_id int PRIMARY KEY, name varchar(40), Tier varchar(10));
INSERT INTO customers SELECT seq, concat('customer ', seq), 'gold' FROM seq_1_to_20;
CREATE TABLE orders (ID bigint PRIMARY KEY, amount decimal(12,2), note text, code varbinary(20), paid tinyint(1),
 at_hour time, update_at datetime(6), KEY (update_at));
INSERT INTO orders SELECT seq, seq / 4, if(seq % 7 = 0, 'a ''quote'', "é", a \\\\ and
 a line', NULL), unhex('00ff5c'), seq % 2, '10:11:12', '2024-01-01 10:00:00.123456' FROM seq_1_to_300
"""


@dataclass
class Place:
    """A folder with the configuration, MariaDB as source, a bucket as lake, and the double as target."""

    server: MariaDb
    double: RedshiftDouble
    folder: Path
    lake: dict[str, Any]

    def write(self, tables: str = TABLES, **settings: Any) -> None:
        (self.folder / "conf").mkdir(exist_ok=True)
        (self.folder / "conf" / "tables.yml").write_text(tables)
        known = {"source": self.server.url(), "target": self.double.url, "lake": self.lake, "tables": {}, **settings}
        (self.folder / "tidegate.yml").write_text(yaml.safe_dump(known))

    def do(self, script: str, name: str = "sales_db") -> None:
        with closing(opened(self.server.url(name))) as connection, connection.cursor() as cursor:
            for statement in script.split(";"):
                cursor.execute(statement)
            connection.commit()

    def command(self, *words: str, code: int = 0) -> str:
        found, output, errors = cli(*words, cwd=self.folder, environment={})
        assert found == code, output + errors
        return output + errors

    def sync(self, *tables: str, source: str = "sales_db", schema: str = "reporting_sales") -> RunReport:
        """Run `tidegate sync` in this process. Return its report, also of a run with failed tables."""
        chosen = Chosen(source, schema, tables)
        files = (self.folder / "tidegate.yml", self.folder / "conf" / "tables.yml")
        with Tidegate.from_project(project_of(chosen, *files, engine="process")) as tidegate:
            return tidegate.run(check=False)

    def ask(self, question: str | sql.Composable) -> list[tuple[Any, ...]]:
        with Witness(self.double.backend) as witness:
            return witness.ask(question)


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
def place(mariadb: MariaDb, postgres: EmbeddedPostgres, s3: S3Server, tmp_path: Path) -> Iterator[Place]:
    s3.make_bucket("redshift-stories")
    mariadb.drop_database("sales_db")
    mariadb.create_database("sales_db")
    lake = {"path": f"s3://redshift-stories/{tmp_path.name}", "store": s3.options}
    with database_on(postgres) as backend, RedshiftDouble(backend, s3.options) as double:
        place = Place(mariadb, double, tmp_path, lake)
        place.do(SALES)
        place.write()
        yield place


BOTH = ("customers", "orders")
WORDS = (
    "sync",
    "--source-db",
    "sales_db",
    "--target-schema",
    "reporting_sales",
    "--tables",
    "customers",
    "-t",
    "orders",
)


def failure(report: RunReport) -> str:
    """Return the message of the only table that failed."""
    [(_, message)] = report.failures
    return message


def test_documented_command_loads_and_knows_its_rows(place: Place):
    """Two tables, each by its strategy, in one call of the command line; a change and a delete; then nothing."""
    assert "320 loaded" in place.command(*WORDS, "--engine", "process")
    assert place.ask("SELECT count(*), sum(amount), count(note), min(update_at)::text FROM reporting_sales.orders") == [
        (300, Decimal("11287.50"), 42, "2024-01-01 10:00:00.123456")
    ]
    assert place.ask("SELECT note, code, paid, at_hour::text FROM reporting_sales.orders WHERE id = 7") == [
        ("a 'quote', \"é\", a \\ and\n a line", b"\x00\xff\\", 1, "10:11:12")
    ]
    place.do("UPDATE orders SET amount = 1, update_at = '2024-02-01' WHERE ID = 5")
    place.do("DELETE FROM customers WHERE customer_id < 3")
    assert place.sync(*BOTH).outcome == "done"
    assert place.ask("SELECT count(*), sum(amount) FROM reporting_sales.orders") == [(300, Decimal("11287.25"))]
    assert place.ask("SELECT count(*), min(tier) FROM reporting_sales.customers") == [(18, "gold")]
    assert place.sync(*BOTH).rows_loaded == 0


def test_copy_reads_files_of_the_lake_itself(place: Place):
    """A whole table is loaded from the entry's own files, by a manifest. And the ledger is locked before all else."""
    place.sync("customers")
    [copied] = place.double.copied
    assert "/incremental/sales_db/reporting_sales/customers/year=" in copied
    begun = [said[place_of + 1] for said in place.double.conversations for place_of in where(said, "BEGIN")]
    locks = {text.rpartition(".")[2].strip('"').partition("_")[0] for text in begun if text.startswith("LOCK TABLE")}
    assert len(locks) == 3 and all(text.startswith("LOCK TABLE") for text in begun), begun
    assert locks == {"guard", "ledger", "lock"}


def where(said: list[str], text: str) -> list[int]:
    return [number for number, each in enumerate(said[:-1]) if each == text]


WORDS_OF_A_LOAD = ['INSERT INTO "reporting_sales"', 'INSERT INTO "tidegate"."ledger"', "COMMIT"]


@pytest.mark.thorough
@pytest.mark.parametrize("word", WORDS_OF_A_LOAD)
def test_serializable_violation_is_retried(place: Place, word: str):
    """Error 1023 rolls the transaction back. The load is repeated, and every row is there once."""
    place.sync("customers")
    place.do("UPDATE customers SET name = 'new' WHERE customer_id = 1")
    place.double.violations.append(word)
    assert place.sync("customers").outcome == "done"
    assert place.double.violations == []
    assert place.ask("SELECT count(*), count(DISTINCT customer_id) FROM reporting_sales.customers") == [(20, 20)]
    assert place.ask("SELECT name FROM reporting_sales.customers WHERE customer_id = 1") == [("new",)]


@pytest.mark.parametrize("reaches_server", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_commit_without_an_answer_is_looked_up(place: Place, reaches_server: bool):
    place.double.cuts.append(Cut("COMMIT", "load", reaches_server))
    assert place.sync("orders").outcome == "done"
    assert place.double.cuts == []
    assert place.ask("SELECT count(*), count(DISTINCT id) FROM reporting_sales.orders") == [(300, 300)]


@pytest.mark.thorough
def test_versions_are_kept_with_a_numbered_key(place: Place):
    """`scd_type: 2`: a column that becomes null, a row that leaves and one that comes."""
    scd = "full_sync\n    scd_type: 2\n    surrogate_key: customer_sk\n    deletes: close\n"
    place.write(TABLES.replace("full_sync\n", scd, 1))
    assert place.sync("customers").outcome == "done"
    place.do("UPDATE customers SET Tier = NULL WHERE customer_id = 1; DELETE FROM customers WHERE customer_id = 2")
    place.do("INSERT INTO customers VALUES (21, 'a new one', NULL)")
    assert place.sync("customers").outcome == "done"
    assert place.ask(
        "SELECT customer_id, tier, is_current, end_date IS NULL FROM reporting_sales.customers"
        " WHERE customer_id IN (1, 2, 21) ORDER BY 1, start_date"
    ) == [(1, "gold", False, False), (1, None, True, True), (2, "gold", False, False), (21, None, True, True)]
    assert place.ask("SELECT count(*), count(DISTINCT customer_sk) FROM reporting_sales.customers") == [(22, 22)]
    [created] = [text for text in place.double.statements if text.startswith('CREATE TABLE "reporting_sales"')]
    assert '("customer_sk" bigint IDENTITY(1,1), ' in created


REFUSED = {
    "digits": ("ALTER TABLE orders ADD COLUMN wide decimal(50,10)", "wide has 50 digits"),
    "NUL": ("UPDATE orders SET note = concat('a', char(0), 'b') WHERE ID = 3", "holds U+0000"),
    "bytes": ("ALTER TABLE orders MODIFY note longtext; UPDATE orders SET note = repeat('é', 40000)", "80,000"),
    "name": (f"ALTER TABLE orders ADD COLUMN {'é' * 64} int", "longer than 127 bytes"),
}


@pytest.mark.parametrize(
    "case", [name if name == "NUL" else pytest.param(name, marks=pytest.mark.thorough) for name in REFUSED]
)
def test_what_does_not_fit_is_refused_before_a_row_moves(place: Place, case: str):
    change, told = REFUSED[case]
    place.do(change)
    assert told in failure(place.sync("orders"))
    assert not any(text.startswith(('INSERT INTO "reporting_sales"', "COPY")) for text in place.double.statements)


@pytest.mark.thorough
def test_keys_that_nobody_enforces_are_checked(place: Place):
    """Somebody brings a row under a key that is there already: a load that would keep both is refused."""
    place.write(TABLES.replace("full_sync", "full_sync\n    load: merge", 1))
    place.sync("customers")
    with Witness(place.double.backend) as witness:
        witness.do("INSERT INTO reporting_sales.customers VALUES (1, 'twice', 'gold')")
    place.do("INSERT INTO customers VALUES (21, 'new', 'gold')")
    assert "not unique" in failure(place.sync("customers"))
    assert place.ask("SELECT count(*) FROM reporting_sales.customers") == [(21,)]


def test_lake_outside_of_a_bucket_is_refused(place: Place):
    place.write(lake=str(place.folder / "lake"))
    with pytest.raises(Unsupported, match="Keep the lake in S3"):
        place.sync("customers")


@pytest.mark.thorough
def test_distribution_and_sort_keys_are_declared(place: Place):
    place.write(TABLES.replace("full_sync", "full_sync\n    distribution: customer_id\n    sort_keys: [Tier, name]", 1))
    place.sync("customers")
    [created] = [text for text in place.double.statements if text.startswith('CREATE TABLE "reporting_sales"')]
    layout = 'DISTSTYLE KEY DISTKEY ("customer_id") SORTKEY ("Tier", "name")'
    assert created.endswith(f'PRIMARY KEY ("customer_id")) {layout}')


def test_grants_name_role_bucket_and_schema(place: Place):
    tables = {"customers": {"kind": "static", "target_table": "reporting.customers"}}
    source = f"{place.server.url()}sales_db".replace("//sales_db", "/sales_db")
    with Tidegate(source=source, target=place.double.url, lake=place.lake, tables=tables) as tidegate:
        text = "\n".join(tidegate.grants()["target"])
    assert 'ON SCHEMA "reporting"' in text
    assert "GRANT ASSUMEROLE ON 'arn:aws:iam::" in text
    assert "s3:GetObject on arn:aws:s3:::redshift-stories/" in text


EVERY_KIND = {
    "days": {"kind": "partition", "partition_column": "day"},
    "codes": {"kind": "static", "primary_keys": ["code"], "allow_deletes": True},
    "log": {"kind": "incremental", "timestamp_column": "at", "id_column": "id", "load": "append"},
    "bare": {"kind": "incremental", "changes": "timestamp", "timestamp_column": "at", "load": "append"},
    "prices": {"kind": "incremental", "timestamp_column": "at", "id_column": "id", "deletes": "key_compare"},
}
KINDS = """
CREATE TABLE days (id int PRIMARY KEY, day int, v varchar(9), KEY (day));
INSERT INTO days SELECT seq, 20240101 + seq % 3, 'a' FROM seq_1_to_90;
CREATE TABLE codes (code varchar(9) COLLATE utf8mb4_nopad_bin PRIMARY KEY, v varchar(9));
INSERT INTO codes VALUES ('a', NULL), ('a ', 'blank'), ('B\\\\', 'x'), ('b', ''), ('é', 'é');
CREATE TABLE log (id int PRIMARY KEY, at datetime(6), KEY (at));
INSERT INTO log SELECT seq, '2024-01-01' FROM seq_1_to_50;
CREATE TABLE bare (at datetime(6), v int, KEY (at));
INSERT INTO bare SELECT '2024-01-01', seq % 2 FROM seq_1_to_10;
CREATE TABLE prices (id int PRIMARY KEY, at datetime(6), p decimal(38,9), KEY (at));
INSERT INTO prices SELECT seq, '2024-01-01', 12345678901234567890123456789.123456789 FROM seq_1_to_50
"""
CHANGED = """
UPDATE days SET v = NULL WHERE day = 20240102; DELETE FROM days WHERE id IN (3, 4);
INSERT INTO days VALUES (91, 20240105, 'b');
UPDATE codes SET v = 'new' WHERE code = 'b'; DELETE FROM codes WHERE code = 'é';
INSERT INTO log VALUES (51, '2024-01-02'); INSERT INTO bare VALUES ('2024-01-02', 1), ('2024-01-02', 1);
UPDATE prices SET p = NULL, at = '2024-01-02' WHERE id = 4; DELETE FROM prices WHERE id = 5
"""


@pytest.mark.thorough
def test_every_kind_of_table_ends_equal(place: Place):
    """Partitions, a static table, two appended ones and a merged one, each with changes, and then verified."""
    place.do(KINDS)
    source = place.server.url("sales_db")
    with Tidegate(
        source=source, target=place.double.url, lake=place.lake, engine="process", tables=EVERY_KIND
    ) as tidegate:
        tidegate.run()
        place.do(CHANGED)
        tidegate.run()
        assert tidegate.verify(deep=True).outcome == "equal"
    counts = [place.ask(f"SELECT count(*) FROM public.{table}")[0][0] for table in EVERY_KIND]  # noqa: S608
    assert counts == [89, 4, 51, 12, 49]
    assert place.ask('SELECT code, v FROM public.codes ORDER BY code COLLATE "C"') == [
        ("B\\", "x"),
        ("a", None),
        ("a ", "blank"),
        ("b", "new"),
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_generated_versions_equal_the_reference(place: Place, seed: int):
    """Random states of a dimension: nulls, equal values, rows that leave and come back. Every version is there once."""
    chance = random.Random(seed)
    scd = "full_sync\n    scd_type: 2\n    surrogate_key: customer_sk\n    deletes: close\n"
    place.write(TABLES.replace("full_sync\n", scd, 1))
    expected: dict[int, list[tuple[Any, ...]]] = {}
    closed: set[int] = set()
    for _ in range(5):
        state = {
            key: (chance.choice(["x", "y", None]), chance.choice(["", "1", None]))
            for key in range(8)
            if chance.random() < 0.7
        }
        place.do("DELETE FROM customers")
        for key, (name, tier) in state.items():
            with closing(opened(place.server.url("sales_db"))) as link, link.cursor() as cursor:
                cursor.execute("INSERT INTO customers VALUES (%s, %s, %s)", (key, name, tier))
                link.commit()
        assert place.sync("customers").outcome == "done"
        for key in range(8):
            versions = expected.setdefault(key, [])
            if key not in state:
                closed.add(key)
            elif not versions or versions[-1] != state[key] or key in closed:
                versions.append(state[key])
                closed.discard(key)
    found: dict[int, list[tuple[Any, ...]]] = {key: [] for key in range(8)}
    for key, name, tier, current, ended in place.ask(
        "SELECT customer_id, name, tier, is_current, end_date IS NOT NULL FROM reporting_sales.customers"
        " ORDER BY customer_id, start_date"
    ):
        found[key].append((name, tier))
        is_last = len(found[key]) == len(expected[key])
        assert (current, ended) == (is_last and key not in closed, not is_last or key in closed)
    assert found == expected


@pytest.mark.thorough
@pytest.mark.parametrize("place_of_death", ["schema changed", "task about to commit", "task committed", "loaded"])
def test_killed_run_is_completed(place: Place, place_of_death: str, tmp_path: Path):
    """SIGKILL at a step: the next run takes the table over, and every row is there once."""
    tables = {"orders": {"kind": "incremental", "timestamp_column": "update_at", "id_column": "ID"}}
    source = place.server.url("sales_db")
    settings = {"source": source, "target": place.double.url, "lake": place.lake, "engine": "process", "tables": tables}
    (tmp_path / "killed.yml").write_text(yaml.safe_dump(settings))
    script = Path(__file__).parents[1] / "kit" / "crash.py"
    words = (tmp_path / "killed.yml", place_of_death, 1, tmp_path / "tally", "process")
    with child(script, *words) as run:
        run.communicate(timeout=200)
    assert run.returncode == -signal.SIGKILL
    with Tidegate(**settings) as tidegate:
        tidegate.run()
    assert place.ask("SELECT count(*), count(DISTINCT id) FROM public.orders") == [(300, 300)]


HOSTILE = ("sales db", "sales_db%2Fx", "säles/../db", "year=2024", "_hidden", "a.b", "quo\"te'")


@pytest.mark.thorough
@pytest.mark.parametrize("name", HOSTILE)
def test_databases_and_schemas_never_share_a_place(place: Place, name: str):
    """Tables of an equal name, of two databases and for two schemas, under names that look like paths or like SQL."""
    place.write("tables:\n  - name: customers\n    cdc_strategy: full_sync\n")
    place.server.drop_database(name)
    place.server.create_database(name)
    place.do("CREATE TABLE customers (id int PRIMARY KEY); INSERT INTO customers VALUES (1), (2)", name)
    for source, schema in ((name, name), (name, f"{name}2"), ("sales_db", "plain")):
        assert place.sync("customers", source=source, schema=schema).outcome == "done"
    folders = {url.rpartition("/year=")[0] for url in place.double.copied if "/incremental/" in url}
    assert len(folders) == 3
    for schema, count in ((name, 2), (f"{name}2", 2), ("plain", 20)):
        question = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema.lower(), "customers"))
        assert place.ask(question) == [(count,)]


def test_login_by_iam_asks_aws(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    """moto answers for AWS: the login is one for this cluster and user, and is asked for once."""
    import boto3

    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "of-tests")
    client = boto3.client("redshift", region_name="eu-west-1", endpoint_url=s3.endpoint)
    client.create_cluster(
        ClusterIdentifier="mine", NodeType="ra3.large", MasterUsername="admin", MasterUserPassword="Secret-123"
    )
    place = parse_connection(
        "redshift://loader@mine.abc123.eu-west-1.redshift.amazonaws.com:5439/dwh?iam=true&iam_endpoint=" + s3.endpoint
    )
    user, password = temporary_login(place)
    assert user == "IAM:loader" and password
    assert temporary_login(place) == (user, password)
    other = parse_connection(
        "redshift://loader@other.abc123.eu-west-1.redshift.amazonaws.com:5439/dwh?iam=true&iam_endpoint=" + s3.endpoint
    )
    with pytest.raises(Unreachable, match="by IAM"):
        temporary_login(other)
