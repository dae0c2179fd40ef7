"""The format `tidegate` of Spark: tables of databases, read by plain Spark code and compared with a plain driver."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from kit import processes, sides
from kit.project import child, database_on
from tidegate.frames.source import register

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kit.mariadb import MariaDb

pytestmark = [pytest.mark.postgres, pytest.mark.spark]

TYPES_OF_POSTGRES = """
CREATE TABLE "all Types" (
    id bigint PRIMARY KEY, small smallint, whole integer, "exact value" numeric(38,18), free numeric, real_ real,
    double_ double precision, ok boolean, word text, code char(5), day date, clock time, moment timestamp,
    instant timestamptz, bytes bytea, guid uuid, document jsonb, span interval, list integer[]
);
INSERT INTO "all Types" VALUES
    (1, -32768, 2147483647, 12345678901234567890.123456789012345678, 1e-40, 0.1, 0.1, true, 'naïve ✓ 山田', 'ab',
     '0001-01-01', '23:59:59.999999', '9999-12-31 23:59:59.999999', '2024-06-30 23:59:59.123456+02', '\\x00ff',
     'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": [1, null]}', '1 year 2 days 00:00:00.000001', '{1,NULL}'),
    (9223372036854775807, 0, 0, -0.000000000000000001, 12345678901234567890123456789012345678901234567890.5, 'NaN',
     '-Infinity', false, '', '', '2024-02-29', '00:00', '1582-10-15', '1900-01-01 00:00+00', '', NULL, 'null', NULL,
     '{}'),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""
AS_SEEN_BY_POSTGRES = """
SELECT id, small, whole, "exact value", free::text, real_::float8, double_, ok, word, code, day,
       to_char(clock, 'HH24:MI:SS.US'), moment,
       instant AT TIME ZONE 'UTC', bytes, guid::text, document::text,
       CASE WHEN span IS NOT NULL THEN 'P1Y2DT0.000001S' END, list::text
FROM "all Types" ORDER BY id
"""
TYPES_OF_MYSQL = """
CREATE TABLE all_types (
    id bigint PRIMARY KEY, tiny tinyint, amount decimal(30,10), word varchar(40), day date, clock time(6),
    moment datetime(6), bytes varbinary(10), bits bit(9)
)
"""
ROWS_OF_MYSQL = """
INSERT INTO all_types VALUES
    (1, -128, 12345678901234567890.0123456789, 'naïve ✓ 山田', '1000-01-01', '23:59:59.999999',
     '9999-12-31 23:59:59.999999', x'00ff', b'101010101'),
    (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""
ACCOUNTS = """
CREATE TABLE accounts (id integer PRIMARY KEY, region text, balance numeric(12,2), opened date);
INSERT INTO accounts SELECT n, 'r' || n % 10, 100, date '2024-01-01' + n % 366 FROM generate_series(1, 20000) AS n;
ANALYZE accounts
"""


@pytest.fixture
def load(spark: SparkSession, database: str) -> Callable[..., DataFrame]:
    """Read a table of the test's database with these options."""
    register(spark)

    def read(table: str, url: str = database, **options: object) -> DataFrame:
        reader = spark.read.format("tidegate").option("url", url).option("table", table)
        for name, value in options.items():
            reader = reader.option(name, str(value))
        return reader.load()

    return read


def test_types_of_postgresql_are_exact(load: Callable[..., DataFrame], database: str):
    sides.do(database, TYPES_OF_POSTGRES)
    found = [tuple(row) for row in load("all Types").orderBy("id").collect()]
    for row, expected in zip(found, sides.ask(database, AS_SEEN_BY_POSTGRES), strict=True):
        for cell, other in zip(row, expected, strict=True):
            assert _same(cell, other), (cell, other)


def _same(cell: object, other: object) -> bool:
    """Compare what Spark has with what the driver has: times as text, `07:30:00.000000`, texts as the server writes."""
    if isinstance(cell, float) or cell is None:
        return repr(cell) == repr(other) or cell == other
    cell = bytes(cell) if isinstance(cell, bytearray) else cell
    return cell == other


@pytest.fixture
def mysql_database(mariadb: MariaDb) -> Iterator[str]:
    with ExitStack() as opened:
        yield opened.enter_context(database_on(mariadb))


@pytest.mark.mysql
def test_types_of_mariadb_are_exact(load: Callable[..., DataFrame], mysql_database: str):
    sides.do(mysql_database, TYPES_OF_MYSQL)
    sides.do(mysql_database, ROWS_OF_MYSQL)
    first, second = load("all_types", mysql_database).orderBy("id").collect()
    expected = sides.ask(mysql_database, "SELECT id, tiny, amount, word, day, moment FROM all_types ORDER BY id")
    names = ("id", "tiny", "amount", "word", "day", "moment")
    assert [tuple(row[name] for name in names) for row in (first, second)] == expected
    assert first.clock == "23:59:59.999999" and bytes(first.bytes) == b"\x00\xff"
    assert [second[name] for name in second.asDict() if name != "id"] == [None] * 8


def test_all_splits_see_one_state(load: Callable[..., DataFrame], database: str):
    """Somebody moves money between accounts all the time. Every read adds up, although several tasks share it."""
    sides.do(database, ACCOUNTS)
    done, moves = threading.Event(), Counter[str]()

    def move() -> None:
        while not done.is_set():
            sides.do(
                database,
                "UPDATE accounts SET balance = balance + CASE WHEN id <= 10000 THEN -1 ELSE 1 END",
            )
            moves["done"] += 1

    writer = threading.Thread(target=move)
    writer.start()
    try:
        frame = load("accounts", splits=4)
        for _ in range(3):
            assert [tuple(row) for row in frame.selectExpr("sum(balance)", "count(*)").collect()] == [
                (2_000_000, 20_000)
            ]
    finally:
        done.set()
        writer.join()
    assert moves["done"] > 3
    parts = frame.selectExpr("spark_partition_id() AS part").distinct().count()
    assert parts > 1


@pytest.mark.thorough
def test_a_snapshot_that_has_ended_is_a_clear_error(load: Callable[..., DataFrame], database: str):
    sides.do(database, ACCOUNTS)
    frame = load("accounts", splits=2, snapshot_seconds=1)
    assert frame.count() == 20_000
    _wait_for_no_snapshot(database)
    with pytest.raises(Exception, match=r"the snapshot that all tasks read has ended"):
        frame.count()


def _wait_for_no_snapshot(database: str) -> None:
    processes.wait_until(lambda: sides.ask(database, SNAPSHOTS) == [(0,)], "the snapshot ends", 30)


def test_where_is_asked_of_the_server(load: Callable[..., DataFrame], database: str):
    """The rows that the condition leaves out do not even travel: one of them could not."""
    sides.do(database, "CREATE TABLE t (id integer PRIMARY KEY, amount numeric(10,2))")
    sides.do(database, "INSERT INTO t VALUES (1, 1.50), (2, 'NaN')")
    assert load("t", where="id < 2").count() == 1
    with pytest.raises(Exception, match=r"text_columns"):
        load("t").collect()
    assert sorted(row.amount for row in load("t", text_columns="amount").collect()) == ["1.50", "NaN"]


def test_pushed_filters_give_the_same_rows(spark: SparkSession, load: Callable[..., DataFrame], database: str):
    """Each filter with and without the server. A NaN beyond the filters shows that rows stay in the server."""
    sides.do(database, ACCOUNTS)
    sides.do(database, "INSERT INTO accounts VALUES (0, NULL, NULL, NULL)")
    filters = [
        "id > 19990",
        "id IN (1, 7, 30000) AND region = 'r7'",
        "balance >= 100.00 AND opened < date'2024-01-03'",
        "region IS NULL",
        "NOT (id <= 19995)",
        "region < 'r1' AND id < 50",
        "id <=> 5",
        "region LIKE 'r3%' AND id < 40",
    ]
    expected = [Counter(map(tuple, load("accounts").where(text).collect())) for text in filters]
    register(spark, push_filters=True)
    try:
        for text, rows in zip(filters, expected, strict=True):
            assert Counter(map(tuple, load("accounts").where(text).collect())) == rows and rows, text
        sides.do(database, "UPDATE accounts SET balance = 'NaN' WHERE id = 19999")
        assert load("accounts").where("id > 0 AND id < 19000").count() == 18_999
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
        register(spark)


@pytest.mark.thorough
def test_spark_still_keeps_pushed_filters_with_a_frame(
    spark: SparkSession, load: Callable[..., DataFrame], database: str
):
    """The reason why filters are not pushed by themselves. When this fails, Spark was corrected: push them always."""
    sides.do(database, ACCOUNTS)
    register(spark, push_filters=True)
    try:
        frame = load("accounts")
        assert frame.where("id > 19990").count() == 10
        assert frame.selectExpr("id + 1 AS next").count() == 10, "Spark 4.1 gives the rows of the query before"
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
        register(spark)
    frame = load("accounts")
    assert frame.where("id > 19990").count() == 10
    assert frame.selectExpr("id + 1 AS next").count() == 20_000


@pytest.mark.thorough
def test_columns_can_be_chosen(load: Callable[..., DataFrame], database: str):
    sides.do(database, ACCOUNTS)
    assert load("accounts", columns="balance, id").columns == ["balance", "id"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tabel": "x"}, "Unknown option tabel"),
        ({"splits": "many"}, "must be a number from 1 on"),
        ({"columns": "nothing"}, "has no column nothing"),
    ],
)
def test_wrong_options_are_named(load: Callable[..., DataFrame], database: str, options: dict[str, str], message: str):
    sides.do(database, "CREATE TABLE t (id integer PRIMARY KEY)")
    with pytest.raises(Exception, match=message):
        load("t", **options)


def test_a_table_that_is_not_there(load: Callable[..., DataFrame]):
    with pytest.raises(Exception, match=r"There is no table .*nowhere"):
        load("nowhere")


SNAPSHOTS = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '%snapshot%'
"""
SECRETS = """
import contextlib, io, json, sys
import tidegate
from tidegate.spark.session import open_session

url, folder, remote = sys.argv[1:4]
log = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{folder}", "spark.eventLog.compress": "false"}
spark = open_session(remote="local[2]") if remote == "connect" else open_session("local[2]", options=log)
tidegate.register(spark)
frame = spark.read.format("tidegate").option("url", url).option("table", "accounts").option("splits", 3).load()
frame.createOrReplaceTempView("accounts")
total = spark.sql("SELECT sum(balance) AS total FROM accounts WHERE id > 0").collect()[0].total
with contextlib.redirect_stdout(io.StringIO()) as plan:
    frame.where("id > 5").explain("extended")
settings = "" if remote == "connect" else str(spark.sparkContext.getConf().getAll())
print(json.dumps({"total": str(total), "plan": plan.getvalue(), "settings": settings}))
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("session", ["classic", "connect"])
def test_no_login_in_plans_and_the_event_log(database: str, tmp_path: Path, session: str):
    """Neither plans nor settings nor Spark's event log, from which its UI is drawn, have the password."""
    sides.do(database, ACCOUNTS)
    password = database.partition("://")[2].partition("@")[0].partition(":")[2]
    with child("-c", SECRETS, database, tmp_path, session) as reading:
        output, errors = reading.communicate(timeout=200)
    assert reading.returncode == 0, errors
    said = json.loads(output.strip().splitlines()[-1])
    assert said["total"] == "2000000.00" and "tidegate" in said["plan"]
    logs = [path.read_text() for path in tmp_path.rglob("events_*")]
    assert session == "connect" or any("BatchScan" in text for text in logs)
    assert password and not [text for text in (output, errors, *logs) if password in text]
