"""Splits of a request: together they read every row once, on real servers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.conftest import NewDatabase, Pair
from conformance.servers.postgresql import Absent
from kit.copies import database_at
from kit.sides import do
from tidegate.hashing.receipts import read_receipt
from tidegate.interfaces import ReadRequest, Session
from tidegate.interfaces.splits import Divisible
from tidegate.model.names import TableName
from tidegate.model.receipt import Receipt
from tidegate.model.values import Value, ValueKind
from tidegate.sql.cursors import between
from tidegate.sql.partitions import has_value

ROWS, PARTS = 4_000, 4


def window_of(session: Session, table: str, fixed: str = "", value: int = 0, ranged: str = "") -> Divisible:
    """Return the whole table as a window, or the rows of one value, or those up to a value of the cursor."""
    name = TableName(session.database.default_schema, table)
    schema = session.table_schemas([name])[name]
    rows, count = None, ROWS
    if fixed or ranged:
        column = schema.exact_column(fixed or ranged)
        assert column is not None
        bound = Value.of(value, ValueKind.INTEGER)
        rows = has_value(column, bound) if fixed else between(column, None, bound)
        count = ROWS // 4 if fixed else value
    return Divisible(ReadRequest(schema.name, schema.columns, rows), schema, count, (fixed,) if fixed else (), ranged)


def receipts(session: Session, window: Divisible) -> tuple[Receipt, list[Receipt]]:
    """Return the receipt of the window, and those of its splits."""
    requests = session.split(window, PARTS)
    return read_receipt(session, window.request), [read_receipt(session, request) for request in requests]


def assert_split(session: Session, window: Divisible, parts: int = PARTS) -> list[Receipt]:
    whole, found = receipts(session, window)
    assert sum(found, Receipt.EMPTY) == whole
    assert len(found) == parts
    if parts > 1:
        assert max(receipt.rows for receipt in found) <= whole.rows // 2
    return found


# PostgreSQL

_SERIES = "SELECT day, id, 'row ' || id AS note FROM generate_series(1, 4) AS day, generate_series(1, 1000) AS id"
_SCATTERED = "SELECT id % 4 + 1 AS day, id, 'row ' || id AS note FROM generate_series(1, 4000) AS id"
_PARTITIONED = (
    "CREATE TABLE {name} (day int, id int, note text) PARTITION BY LIST (day);"
    "CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES IN (1);"
    "CREATE TABLE {name}_2 PARTITION OF {name} DEFAULT;"
)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE {name} AS {series}",
        "CREATE TABLE {name} AS {scattered}; ANALYZE {name}",
        "CREATE TABLE {name} AS {series}; CREATE INDEX ON {name} (day); ANALYZE {name}",
        _PARTITIONED + "INSERT INTO {name} {series}; ANALYZE {name}",
        "CREATE TABLE {name} (day int, id int, note text); CREATE TABLE {name}_2 () INHERITS ({name});"
        "INSERT INTO {name}_2 {series}",
        "CREATE MATERIALIZED VIEW {name} AS {series}",
    ],
    ids=["plain", "scattered", "indexed", "partitioned", "inherited", "materialised view"],
)
def test_postgresql_divides_by_place(made: str, pair: Pair):
    """The whole table and one value of it are read in parts of about the same size, also while rows come and go."""
    table = pair.name()
    pair.source.do(made.format(name=table, series=_SERIES, scattered=_SCATTERED))
    with database_at(pair.source.url).connect("test", read_only=True) as session:
        session.export_snapshot()
        assert_split(session, window_of(session, table))
        assert_split(session, window_of(session, table, fixed="day", value=2))


@pytest.mark.postgres
def test_updated_rows_are_read_once(pair: Pair):
    """Rows that were updated have moved to other blocks; a snapshot from before sees them where they were."""
    table = pair.name()
    pair.source.do(f"CREATE TABLE {table} AS {_SERIES}")
    with database_at(pair.source.url).connect("test", read_only=True) as session:
        session.export_snapshot()
        whole = read_receipt(session, window_of(session, table).request)
        requests = session.split(window_of(session, table), PARTS)
        for change in ("UPDATE {} SET note = 'moved'", "DELETE FROM {} WHERE id % 3 = 0"):
            pair.source.do(change.format(table))
        found = [read_receipt(session, request) for request in requests]
    assert sum(found, Receipt.EMPTY) == whole
    assert whole.rows == ROWS


@pytest.mark.postgres
def test_view_is_read_as_a_whole(pair: Pair):
    table = pair.name()
    pair.source.do(f"CREATE VIEW {table} AS {_SERIES}")
    with database_at(pair.source.url).connect("test", read_only=True) as session:
        assert_split(session, window_of(session, table), parts=1)


# Databases without a snapshot that sessions share

_FILL = "INSERT INTO t SELECT {} FROM seq_1_to_4000"
_KEYS = {
    "ids": ("id int NOT NULL, PRIMARY KEY (id)", "{n}"),
    "big ids": ("id bigint unsigned NOT NULL, PRIMARY KEY (id)", "18446744073709547000 + {n}"),
    "composite": ("a int NOT NULL, b int NOT NULL, PRIMARY KEY (a, b)", "{n} DIV 20, {n} % 20"),
    "ties and nulls": ("a int, KEY (a)", "CASE WHEN {n} % 3 = 0 THEN NULL ELSE {n} % 7 END"),
    "one value": ("a int, KEY (a)", "7"),
    "days": ("a date NOT NULL, KEY (a)", "DATE '2020-01-01' + INTERVAL {n} DAY"),
    "moments": ("a datetime(6), KEY (a)", "TIMESTAMP '2020-01-01 00:00:00' + INTERVAL {n} * 333333 MICROSECOND"),
    "amounts": ("a decimal(20,6), KEY (a)", "({n} * 1.0 - 2000) / 7"),
    "texts": (
        "a varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, KEY (a)",
        "ELT({n} % 6 + 1, 'a', 'A', 'á', 'b ', 'B', 'ß')",
    ),
    "exact texts": (
        "a varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, KEY (a)",
        "CONCAT(CHAR(97 + {n} % 26), {n}, ' ')",
    ),
    "uuids": ("a char(36) NOT NULL, PRIMARY KEY (a)", "LOWER(CONCAT(MD5({n}), '-x'))"),
}


@contextmanager
def mysql_table(new_database: NewDatabase, columns: str, value: str) -> Iterator[Session]:
    try:
        with new_database("mysql") as url:
            do(url, f"CREATE TABLE t ({columns})")
            do(url, _FILL.format(value.format(n="seq")))
            with database_at(url).connect("test", read_only=True) as session:
                yield session
    except Absent as absence:
        pytest.skip(str(absence))


@pytest.mark.parametrize("key", _KEYS)
def test_mysql_divides_by_a_key(key: str, new_database: NewDatabase):
    """Rows of any key are in one split each: nulls, ties, composite keys, texts that a collation takes for equal."""
    with mysql_table(new_database, *_KEYS[key]) as session:
        session.export_snapshot()
        whole, found = receipts(session, window_of(session, "t"))
        assert (sum(found, Receipt.EMPTY), whole.rows) == (whole, ROWS)
        expected = {"one value": 2, "texts": 3, "ties and nulls": 3}.get(key, PARTS)
        assert len(found) == expected


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ("day int NOT NULL, id int NOT NULL, PRIMARY KEY (day, id)", PARTS),
        ("day int NOT NULL, id int NOT NULL, PRIMARY KEY (id), KEY (day)", PARTS),
        ("day int NOT NULL, id int NOT NULL, PRIMARY KEY (id, day)) PARTITION BY LIST (day)"
         " (PARTITION a VALUES IN (1, 2), PARTITION b VALUES IN (3, 4)", PARTS),
        ("day int NOT NULL, id int NOT NULL, PRIMARY KEY (id)", 1),
        ("day int NOT NULL, id int NOT NULL, KEY (day)", 1),
        ("day int NOT NULL, id int NOT NULL", 1),
    ],
    ids=["in the key", "in an index", "in partitions", "no index on the day", "no key", "nothing"],
)  # fmt: skip
def test_mysql_divides_one_value(columns: str, parts: int, new_database: NewDatabase):
    """A partition value is divided where an index leads to its rows and then to a range of another column."""
    with mysql_table(new_database, columns, "{n} % 4 + 1, {n}") as session:
        session.export_snapshot()
        assert_split(session, window_of(session, "t", fixed="day", value=2), parts)


def test_mysql_divides_the_range_of_a_cursor(new_database: NewDatabase):
    with mysql_table(new_database, "id int NOT NULL PRIMARY KEY, at int, KEY (at)", "{n}, {n}") as session:
        session.export_snapshot()
        assert_split(session, window_of(session, "t", ranged="at", value=2_000))


def test_mysql_tells_that_a_table_changed(new_database: NewDatabase):
    """Without a shared snapshot, a table is divided while nobody writes to it. Any commit changes the mark, also an
    update that keeps the count."""
    with mysql_table(new_database, "id int NOT NULL PRIMARY KEY, a int", "{n}, {n}") as session:
        window = window_of(session, "t")
        assert session.change_mark(window) == "", "it was filled a moment ago"
        deadline = time.monotonic() + 20
        while not (before := session.change_mark(window)):
            assert time.monotonic() < deadline, "the table comes to rest"
            time.sleep(0.2)
        assert session.change_mark(window) == before
        url = session.database.connection
        do(f"mysql://{url.user}:{url.password}@{url.host}:{url.port}/{url.database}", "UPDATE t SET a = 0 WHERE id = 7")
        assert session.change_mark(window) != before
