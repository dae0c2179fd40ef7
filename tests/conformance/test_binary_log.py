"""The binary log of a real MariaDB: every type, every way to change rows, and what must not be read on from."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import pytest

from conformance.servers.mariadb import FAMILIES, Sample
from kit.logged import Followed
from kit.mysql_witness import quoted
from tidegate.databases.mysql.binlog.rows import unreadable
from tidegate.errors import FeedLost, NotNative
from tidegate.interfaces import ReadRequest
from tidegate.interfaces.feed import FeedTable
from tidegate.model.feeds import DELETE, INSERT, UPDATE, Position

if TYPE_CHECKING:
    from kit.mariadb import MariaDb

OPERATION, PLACE, TIME = "tidegate_operation", "tidegate_position", "tidegate_committed_at"
# Character sets of several bytes for which Python and the server do not agree on every sign, MariaDB's UUID, and lists
# that the catalog shows with question marks.
EVERYDAY = {"integers", "decimals", "strings", "days and clocks"}
REFUSED = ("sjis", "cp932", "ujis", "gbk", "gb2312", "big5", "euckr", "uuid", "🙂")


@pytest.fixture(scope="module")
def server(logging_mariadb: MariaDb) -> MariaDb:
    return logging_mariadb


@pytest.fixture
def followed(server: MariaDb) -> Iterator[Followed]:
    with server.database() as url:
        found = Followed(url)
        yield found
        found.close()


@pytest.fixture
def orders(followed: Followed) -> Followed:
    followed.witness.do("CREATE TABLE orders (id bigint PRIMARY KEY, item varchar(40), price decimal(12,2))")
    return followed


def end(followed: Followed, name: str = "orders") -> Position:
    return followed.state(followed.table(name)).now


def told(followed: Followed, after: Position, *, images: bool = True) -> list[tuple[Any, ...]]:
    """Return operation and values of each change of `orders`."""
    table = followed.table("orders", images=images)
    found = followed.changes(table, after, end(followed))
    return [tuple(value for name, value in row.items() if name not in (PLACE, TIME)) for row in found]


# Values


@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=() if name in EVERYDAY else pytest.mark.thorough) for name in FAMILIES]
)
def test_values_are_those_of_a_query(followed: Followed, family: str):
    """What the log says of a row is what a query would answer, also where Arrow can hold it as text only."""
    samples = [sample for sample in FAMILIES[family] if not any(word in sample.type for word in REFUSED)]
    named = {f"c{place}": sample for place, sample in enumerate(samples)}
    columns = ", ".join(f"{name} {sample.type}" for name, sample in named.items())
    followed.witness.do(f"CREATE TABLE all_types (id int AUTO_INCREMENT PRIMARY KEY, {columns})")
    start = end(followed, "all_types")
    for row in _rows(samples):
        followed.witness.insert("all_types", named, [row])
    text = _columns_of_text(followed)
    table = followed.table("all_types", text=text)
    request = ReadRequest(table.name, table.columns, text_columns=tuple(text))
    expected = [row for batch in followed.session.read(request) for row in batch.to_pylist()]
    found = followed.changes(table, start, end(followed, "all_types"))
    assert len(found) == len(expected) > 0
    for row, wanted in zip(found, expected, strict=True):
        assert (row.pop(OPERATION), bool(row.pop(PLACE)), bool(row.pop(TIME))) == (INSERT, True, True)
        assert {name: repr(value) for name, value in row.items()} == {
            name: repr(value) for name, value in wanted.items()
        }


def _rows(samples: Sequence[Sample]) -> list[list[str | bytes | None]]:
    cells = [[*sample.values, *(value for value, _ in sample.never), None] for sample in samples]
    return [list(row) for row in zip(*(islice(cycle(cell), max(map(len, cells))) for cell in cells), strict=True)]


def _columns_of_text(followed: Followed) -> list[str]:
    table, text = followed.table("all_types"), list[str]()
    while True:
        try:
            list(followed.session.read(ReadRequest(table.name, table.columns, text_columns=tuple(text))))
            return text
        except NotNative as problem:
            text.append(problem.column)


def test_columns_that_cannot_be_read_are_named(followed: Followed):
    types = sorted({sample.type for family in FAMILIES.values() for sample in family})
    refused = [kind for kind in types if any(word in kind for word in REFUSED)]
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(refused))
    followed.witness.do(f"CREATE TABLE odd (id int PRIMARY KEY, {columns})")
    table = followed.table("odd")
    assert [bool(unreadable(column)) for column in table.columns] == [False, *[True] * len(refused)]
    assert len(followed.feed.problems(followed.session, table)) == len(refused) == 10
    assert followed.feed.problems(followed.session, followed.table("odd", images=False)) == []


# Changes


def test_each_change_is_told_once_in_order(orders: Followed):
    start = end(orders)
    do = orders.witness.do
    do("INSERT INTO orders VALUES (1, 'tea', 1.5), (2, 'rice', NULL)")
    do("UPDATE orders SET item = 'milk' WHERE id = 2")
    do("UPDATE orders SET id = 3 WHERE id = 1")
    do("DELETE FROM orders WHERE id = 2")
    do("REPLACE INTO orders VALUES (3, 'oil', 2)")
    changes = [
        (INSERT, 1, "tea", "1.50"),
        (INSERT, 2, "rice", "None"),
        (UPDATE, 2, "milk", "None"),
        (DELETE, 1, "tea", "1.50"),
        (INSERT, 3, "tea", "1.50"),
        (DELETE, 2, "milk", "None"),
        (UPDATE, 3, "oil", "2.00"),
    ]
    assert [(*row[:3], str(row[3])) for row in told(orders, start)] == changes
    assert [row[:2] for row in told(orders, start, images=False)] == [row[:2] for row in changes]
    found = orders.changes(orders.table("orders"), start, end(orders))
    places = [row[PLACE] for row in found]
    assert places == sorted(set(places))
    assert all(abs(row[TIME].timestamp() - time.time()) < 600 for row in found)


def test_rolled_back_rows_are_not_told(orders: Followed):
    start = end(orders)
    do = orders.witness.do
    do("START TRANSACTION")
    do("INSERT INTO orders VALUES (1, 'no', 1)")
    do("ROLLBACK")
    do("START TRANSACTION")
    do("INSERT INTO orders VALUES (2, 'yes', 1)")
    do("SAVEPOINT here")
    do("INSERT INTO orders VALUES (3, 'no', 1)")
    do("ROLLBACK TO here")
    do("COMMIT")
    assert [row[1] for row in told(orders, start)] == [2]


def test_open_transaction_comes_with_its_commit(orders: Followed):
    """A transaction that commits late stands in the log behind what committed before: no window loses it."""
    start = end(orders)
    late = Followed(orders.witness.url)
    late.witness.do("START TRANSACTION")
    late.witness.do("INSERT INTO orders VALUES (1, 'late', 1)")
    orders.witness.do("INSERT INTO orders VALUES (2, 'early', 1)")
    middle = end(orders)
    late.witness.do("COMMIT")
    late.close()
    table = orders.table("orders", images=False)
    assert [row["id"] for row in orders.changes(table, start, middle)] == [2]
    assert [row["id"] for row in orders.changes(table, middle, end(orders))] == [1]


def test_other_tables_cost_nothing(orders: Followed):
    start = end(orders)
    orders.witness.do("CREATE TABLE other (id int)")
    orders.witness.do("INSERT INTO other VALUES (1)")
    state = orders.state(orders.table("orders"), start)
    assert (state.changes, state.lost, state.truncated) == (0, "", False)
    orders.witness.do("INSERT INTO orders VALUES (1, 'tea', 1), (2, 'tea', 1)")
    assert orders.state(orders.table("orders"), start).changes == 2


@pytest.mark.parametrize(
    ("statement", "is_emptied"),
    [
        ("TRUNCATE TABLE orders", True),
        ("truncate /* now */ `orders`", True),
        ("ALTER TABLE orders ADD COLUMN note varchar(9) DEFAULT 'new'", True),
        ("ALTER TABLE orders MODIFY item varchar(60)", True),
        ("RENAME TABLE orders TO gone, spare TO orders", True),
        ("ALTER TABLE spare RENAME TO old", False),
        ("ALTER TABLE orders ADD INDEX (item)", False),
        ("CREATE INDEX by_item ON orders (item)", False),
        ("CREATE OR REPLACE TABLE orders (id bigint PRIMARY KEY, item varchar(40), price decimal(12,2))", True),
        ("DROP TABLE spare", False),
        ("TRUNCATE spare", False),
        ("ANALYZE TABLE orders", False),
        ("CREATE TABLE IF NOT EXISTS orders (id int)", False),
        ("ALTER TABLE orders PARTITION BY HASH (id) PARTITIONS 2", True),
    ],
)
def test_ddl_asks_for_the_whole_table_where_rows_may_move(orders: Followed, statement: str, is_emptied: bool):
    orders.witness.do("CREATE TABLE spare LIKE orders")
    start, table = end(orders), orders.table("orders")
    orders.witness.do(statement)
    state = orders.state(table, start)
    assert (state.truncated or bool(state.untold)) is is_emptied
    if is_emptied:
        with pytest.raises(FeedLost, match=r"altered|emptied|replaced"):
            orders.changes(table, start, end(orders))
    else:
        assert orders.changes(table, start, end(orders)) == []


def test_random_history_gives_the_last_rows(orders: Followed):
    """Inserts, updates, key updates and deletes, rolled back at random: the changes applied give the table."""
    chance, start = random.Random(7), end(orders)
    do, expected = orders.witness.do, dict[int, tuple[str, str]]()
    for _ in range(60):
        draft = dict(expected)
        do("START TRANSACTION")
        for _ in range(chance.randint(1, 6)):
            number, other = chance.randint(1, 12), chance.randint(1, 12)
            match chance.choice(("write", "write", "move", "delete")):
                case "write":
                    item = f"item {chance.random()}"
                    do("REPLACE INTO orders VALUES (%s, %s, 1)", number, item)
                    draft[number] = (item, "1.00")
                case "move" if number in draft and other not in draft:
                    do("UPDATE orders SET id = %s WHERE id = %s", other, number)
                    draft[other] = draft.pop(number)
                case "delete":
                    do("DELETE FROM orders WHERE id = %s", number)
                    draft.pop(number, None)
        if chance.random() < 0.25:
            do("ROLLBACK")
        else:
            do("COMMIT")
            expected = draft
    applied = dict[int, tuple[str, str]]()
    for operation, number, item, price in told(orders, start):
        if operation == DELETE:
            del applied[number]
        else:
            assert (number in applied) == (operation == UPDATE)
            applied[number] = (item, str(price))
    assert applied == expected == {row[0]: (row[1], str(row[2])) for row in orders.witness.ask("SELECT * FROM orders")}


def test_batches_are_bounded(orders: Followed):
    start = end(orders)
    orders.witness.do("INSERT INTO orders SELECT seq, 'many', 1 FROM seq_1_to_30000")
    table = orders.table("orders", images=False)
    sizes = [len(batch) for batch in orders.feed.read(orders.session, table, start, end(orders), "")]
    assert sum(sizes) == 30_000
    assert max(sizes) < 2 * table.batch.rows


# Bad days


def test_log_that_was_purged_is_lost(orders: Followed):
    start, table = end(orders), orders.table("orders")
    orders.witness.do("INSERT INTO orders VALUES (1, 'tea', 1)")
    _purge(orders)
    assert "no longer has binlog." in orders.state(table, start).lost
    with pytest.raises(FeedLost, match="no longer has binlog"):
        orders.changes(table, start, end(orders))


def test_purged_log_that_was_read_is_not_lost(orders: Followed):
    """Files that were read to their end may go: the GTIDs find the place."""
    start, table = end(orders), orders.table("orders")
    _purge(orders)
    orders.witness.do("INSERT INTO orders VALUES (1, 'tea', 1)")
    state = orders.state(table, start)
    assert (state.lost, state.changes) == ("", 1)
    assert state.now.order > start.order
    assert [row["id"] for row in orders.changes(table, start, state.now)] == [1]


def _purge(orders: Followed) -> None:
    orders.witness.do("FLUSH BINARY LOGS")
    newest = str(orders.witness.ask("SHOW BINARY LOGS")[-1][0])
    for _ in range(100):
        orders.witness.do(f"PURGE BINARY LOGS TO '{newest}'")
        if len(orders.witness.ask("SHOW BINARY LOGS")) == 1:
            return
        time.sleep(0.05)  # a reader that has just gone still holds its file
    raise AssertionError("the log was not purged")


def test_log_that_began_anew_is_lost(server: MariaDb, orders: Followed):
    orders.witness.do("INSERT INTO orders VALUES (1, 'tea', 1)")
    start, table = end(orders), orders.table("orders")
    orders.witness.do("RESET MASTER")
    orders.witness.do("INSERT INTO orders VALUES (2, 'tea', 1)")
    assert orders.state(table, start).lost


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        ("binlog_format", "'STATEMENT'", "a statement in place of its rows"),
        ("binlog_row_image", "'MINIMAL'", "lacks columns of its rows"),
    ],
)
def test_session_that_writes_less_stops_the_reading(orders: Followed, setting: str, value: str, reason: str):
    """The server's settings are right, and one session has others of its own."""
    orders.witness.do("INSERT INTO orders VALUES (1, 'tea', 1)")
    start, table = end(orders), orders.table("orders")
    orders.witness.do(f"SET SESSION {setting} = {value}")
    orders.witness.do("UPDATE orders SET item = 'milk'")
    with pytest.raises(FeedLost, match=reason):
        orders.changes(table, start, end(orders))


def test_minimal_row_image_still_has_the_key(orders: Followed):
    orders.witness.do("INSERT INTO orders VALUES (1, 'tea', 1)")
    start = end(orders)
    orders.witness.do("SET SESSION binlog_row_image = 'MINIMAL'")
    orders.witness.do("UPDATE orders SET item = 'milk'")
    orders.witness.do("UPDATE orders SET id = 2")
    orders.witness.do("DELETE FROM orders")
    keys = [row[:2] for row in told(orders, start, images=False)]
    assert keys == [(UPDATE, 1), (DELETE, 1), (INSERT, 2), (DELETE, 2)]


def test_compressed_events_stop_the_reading(orders: Followed):
    start, table = end(orders), orders.table("orders")
    orders.witness.do("SET GLOBAL log_bin_compress = ON")
    try:
        [problem] = orders.feed.problems(orders.session, table)
        assert problem.statements == ("SET GLOBAL log_bin_compress = OFF; -- and in the server's configuration",)
        orders.witness.do("INSERT INTO orders VALUES (1, REPEAT('x', 40), 1), (2, REPEAT('x', 40), 1)")
        orders.witness.do("CREATE TABLE long_text (t text)")
        orders.witness.do("INSERT INTO long_text VALUES (REPEAT('x', 4000))")
    finally:
        orders.witness.do("SET GLOBAL log_bin_compress = OFF")
    with pytest.raises(FeedLost, match="a compressed event"):
        orders.changes(table, start, end(orders))
    assert "a compressed event" in orders.state(table, start).lost


def test_prepared_transactions(orders: Followed):
    """Its rows are in the log when it is prepared: keys are read again after the commit, images are refused."""
    start, table = end(orders), orders.table("orders")
    for statement in ("XA START 'x'", "INSERT INTO orders VALUES (1, 'tea', 1)", "XA END 'x'", "XA PREPARE 'x'"):
        orders.witness.do(statement)
    prepared = end(orders)
    orders.witness.do("XA COMMIT 'x'")
    keys = orders.table("orders", images=False)
    assert [row["id"] for row in orders.changes(keys, start, end(orders))] == [1]
    with pytest.raises(FeedLost, match="prepared"):
        orders.changes(table, start, end(orders))
    with pytest.raises(FeedLost, match="rows were read before"):
        orders.changes(keys, prepared, end(orders))


def test_column_added_in_the_middle_is_null_before(orders: Followed):
    """Rows of both forms lie between two places; the reading stops at the DDL, from either side it is exact."""
    start = end(orders)
    orders.witness.do("INSERT INTO orders VALUES (1, 'tea', 1)")
    middle = end(orders)
    orders.witness.do("ALTER TABLE orders ADD COLUMN note varchar(9) FIRST, DROP COLUMN price")
    after = end(orders)
    orders.witness.do("INSERT INTO orders VALUES ('new', 2, 'rice')")
    table = orders.table("orders")
    before = [(row["id"], row["note"], row["item"]) for row in orders.changes(table, start, middle)]
    since = [(row["id"], row["note"], row["item"]) for row in orders.changes(table, after, end(orders))]
    assert (before, since) == ([(1, None, "tea")], [(2, "new", "rice")])


def test_killed_server_goes_on(server: MariaDb):
    """The log ends in the middle; the next file begins after recovery, and what was committed is there."""
    with server.database() as url:
        first = Followed(url)
        first.witness.do("CREATE TABLE orders (id bigint PRIMARY KEY, item varchar(40), price decimal(12,2))")
        start, table = end(first), first.table("orders", images=False)
        first.witness.do("INSERT INTO orders VALUES (1, 'tea', 1)")
        server.kill()
        server.start()
        second = Followed(url)
        second.witness.do("INSERT INTO orders VALUES (2, 'tea', 1)")
        assert [row["id"] for row in second.changes(table, start, end(second))] == [1, 2]
        second.close()


# What doctor and plan say


@pytest.mark.parametrize(
    ("setting", "wrong", "right"),
    [
        ("binlog_format", "MIXED", "ROW"),
        ("binlog_row_metadata", "MINIMAL", "FULL"),
        ("binlog_row_image", "MINIMAL", "FULL"),
    ],
)
def test_wrong_setting_comes_with_the_statement_that_mends_it(orders: Followed, setting: str, wrong: str, right: str):
    orders.witness.do(f"SET GLOBAL {setting} = '{wrong}'")
    try:
        [problem] = orders.feed.problems(orders.session, orders.table("orders"))
        assert problem.severity == "error"
        assert f"`{setting}` is {wrong}" in problem.text
        orders.witness.do(problem.statements[0])
        assert orders.feed.problems(orders.session, orders.table("orders")) == []
    finally:
        orders.witness.do(f"SET GLOBAL {setting} = '{right}'")


def test_login_without_rights_is_told_what_to_grant(orders: Followed, server: MariaDb):
    name = orders.database.connection.database
    orders.witness.do("CREATE USER poor@'127.0.0.1' IDENTIFIED BY 'poor'")
    try:
        orders.witness.do(f"GRANT SELECT ON {quoted(name)}.* TO poor@'127.0.0.1'")
        poor = Followed(f"mysql://poor:poor@127.0.0.1:{orders.database.connection.port}/{name}")
        problems = poor.feed.problems(poor.session, poor.table("orders"))
        poor.close()
    finally:
        orders.witness.do("DROP USER poor@'127.0.0.1'")
    assert [problem.text for problem in problems] == [
        "the login lacks REPLICATION SLAVE",
        "the login lacks REPLICATION CLIENT",
    ]


def test_health_tells_how_far_behind(orders: Followed):
    start = end(orders)
    orders.witness.do("INSERT INTO orders VALUES (1, 'tea', 1)")
    health = orders.feed.health(orders.session, orders.table("orders"), start)
    assert health.alive
    assert health.facts["not read yet"].endswith(" bytes")
    assert health.facts["kept for"] == "as long as nobody removes it"


def test_retention_clock(orders: Followed):
    """The log of a day is kept for a day: what was read up to a moment ago is safe, what is older is not for long."""
    orders.witness.do("SET GLOBAL binlog_expire_logs_seconds = 86400")
    try:
        start, table = end(orders), orders.table("orders")
        assert orders.state(table, start).notices == (
            "the server removes the binary log that was not read yet in 24 hours",
        )
        place, _, rest = start.detail.partition("~")
        old = Position(start.order, f"{place}~{int(rest.split()[0]) - 80_000} {rest.partition(' ')[2]}")
        assert orders.state(table, old).warnings == (
            "the server removes the binary log that was not read yet in 2 hours",
        )
    finally:
        orders.witness.do("SET GLOBAL binlog_expire_logs_seconds = 0")


def test_first_load_leaves_out_what_its_snapshot_has(orders: Followed):
    """Between the position and the snapshot rows were committed: the first load has them, the feed leaves them out."""
    start = end(orders)
    orders.witness.do("INSERT INTO orders VALUES (1, 'tea', 1)")
    reading = orders.database.connect("test", read_only=True)
    reading.export_snapshot()
    query = orders.feed.snapshot_query()
    assert query is not None
    snapshot = str(reading.query(query)[0][0])
    orders.witness.do("INSERT INTO orders VALUES (2, 'tea', 1)")
    assert [row[0] for row in reading.query_user_sql("SELECT id FROM orders")] == [1] or ["1"]
    table: FeedTable = orders.table("orders")
    found = list(orders.feed.read(orders.session, table, start, end(orders), snapshot))
    reading.close()
    assert [row["id"] for batch in found for row in batch.to_pylist()] == [2]
