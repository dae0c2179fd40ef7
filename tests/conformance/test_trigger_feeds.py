"""Triggers as a change feed, on real servers: every way to change rows, late commits, and what bypasses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kit.logged import Followed
from tidegate.errors import Unsupported
from tidegate.interfaces.feed import FeedTable
from tidegate.model.feeds import DELETE, INSERT, UPDATE, Position
from tidegate.model.names import TableName

if TYPE_CHECKING:
    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

CREATE = "CREATE TABLE orders (id integer, line varchar(20), item varchar(40), PRIMARY KEY (id, line))"
CREATE_MANY = {
    "postgresql": "INSERT INTO orders SELECT n, 'a', 'many' FROM generate_series(1, 25000) AS n",
    "mysql": "INSERT INTO orders SELECT seq, 'a', 'many' FROM seq_1_to_25000",
}


@pytest.fixture(params=["postgresql", "mysql"])
def bare(request: pytest.FixtureRequest, postgres: EmbeddedPostgres) -> Iterator[Followed]:
    """A table without triggers."""
    if request.param == "postgresql":
        url = request.getfixturevalue("database")
        yield from _followed(url)
        return
    server: MariaDb = request.getfixturevalue("mariadb")
    with server.database() as url:
        yield from _followed(url)


def _followed(url: str) -> Iterator[Followed]:
    found = Followed(url, "triggers")
    found.witness.do(CREATE)
    yield found
    found.close()


@pytest.fixture
def orders(bare: Followed) -> Followed:
    bare.create("orders")
    return bare


def table(orders: Followed, name: str = "orders") -> FeedTable:
    return orders.table(name, images=False)


def end(orders: Followed, after: Position | None = None) -> Position:
    return orders.state(table(orders), after).now


def keys(orders: Followed, after: Position, upto: Position | None = None) -> list[tuple[int, str, int]]:
    """Return number, line and operation of each change, sorted: the order of a log of keys means nothing."""
    found = orders.changes(table(orders), after, upto or end(orders, after))
    return sorted((row["id"], row["line"], row["tidegate_operation"]) for row in found)


def test_every_change_is_logged(orders: Followed):
    start, do = end(orders), orders.witness.do
    do("INSERT INTO orders VALUES (1, 'a', 'tea'), (2, 'b', 'rice')")
    do("UPDATE orders SET item = 'milk' WHERE id = 2")
    do("UPDATE orders SET line = 'A' WHERE id = 1")
    do("DELETE FROM orders WHERE id = 2")
    do("DELETE FROM orders WHERE id = 77")
    assert keys(orders, start) == [
        (1, "A", UPDATE),
        (1, "a", INSERT),
        (1, "a", DELETE),
        (2, "b", INSERT),
        (2, "b", UPDATE),
        (2, "b", DELETE),
    ]


def test_upsert_is_logged(orders: Followed):
    start = end(orders)
    upsert = {
        "postgresql": "INSERT INTO orders VALUES (1, 'a', %s)"
        " ON CONFLICT (id, line) DO UPDATE SET item = EXCLUDED.item",
        "mysql": "INSERT INTO orders VALUES (1, 'a', %s) ON DUPLICATE KEY UPDATE item = VALUES(item)",
    }[orders.database.kind]
    orders.witness.do(upsert, "tea")
    orders.witness.do(upsert, "rice")
    assert {key[:2] for key in keys(orders, start)} == {(1, "a")}


def test_rolled_back_changes_are_not_logged(orders: Followed):
    start, do = end(orders), orders.witness.do
    do("START TRANSACTION")
    do("INSERT INTO orders VALUES (1, 'a', 'tea')")
    do("ROLLBACK")
    do("INSERT INTO orders VALUES (2, 'a', 'tea')")
    middle = end(orders, start)
    assert keys(orders, start, middle) == [(2, "a", INSERT)]
    assert orders.state(table(orders), middle).changes == 0


def test_late_commit_is_not_passed_over(orders: Followed):
    """A transaction wrote first and commits last, while windows are read in between."""
    start, do = end(orders), orders.witness.do
    late = Followed(orders.witness.url, "triggers")
    for statement in ("START TRANSACTION", "INSERT INTO orders VALUES (1, 'late', 'tea')"):
        late.witness.do(statement)
    positions = [start]
    for number in range(2, 5):
        do("INSERT INTO orders VALUES (%s, 'early', 'tea')", number)
        positions.append(end(orders, positions[-1]))
        assert keys(orders, *positions[-2:]) == [(number, "early", INSERT)]
    late.witness.do("INSERT INTO orders VALUES (9, 'late', 'tea')")
    late.witness.do("COMMIT")
    late.close()
    state = orders.state(table(orders), positions[-1])
    assert state.changes == 2
    assert state.now.order > positions[-1].order
    assert keys(orders, positions[-1], state.now) == [(1, "late", INSERT), (9, "late", INSERT)]
    orders.feed.confirm(orders.session, {table(orders).name: state.now})
    do("INSERT INTO orders VALUES (10, 'after', 'tea')")
    assert keys(orders, state.now) == [(10, "after", INSERT)]


def test_confirmed_rows_leave_the_log_and_open_ones_stay(orders: Followed):
    start = end(orders)
    late = Followed(orders.witness.url, "triggers")
    late.witness.do("START TRANSACTION")
    late.witness.do("INSERT INTO orders VALUES (1, 'late', 'tea')")
    orders.witness.do(CREATE_MANY[orders.database.kind])
    upto = end(orders, start)
    assert len(keys(orders, start, upto)) == 25_000
    orders.feed.confirm(orders.session, {table(orders).name: upto})
    late.witness.do("COMMIT")
    late.close()
    health = orders.feed.health(orders.session, table(orders), upto)
    assert (health.alive, health.facts["rows in the log"], health.facts["not read yet"]) == (True, "1", "1 keys")
    assert keys(orders, upto) == [(1, "late", INSERT)]


def test_confirmation_of_another_log_removes_nothing(orders: Followed):
    orders.witness.do("INSERT INTO orders VALUES (1, 'a', 'tea')")
    now = end(orders)
    other = Position(now.order, "another " + now.detail.partition(" ")[2])
    orders.feed.confirm(orders.session, {table(orders).name: other})
    assert orders.feed.health(orders.session, table(orders), None).facts["rows in the log"] == "1"


def test_log_made_anew_is_lost(orders: Followed):
    start = end(orders)
    name = table(orders).name
    for statement in orders.feed.drop(orders.session, [name]):
        orders.session.execute(statement)
    orders.create("orders")
    assert orders.state(table(orders), start).lost == "the log of the triggers was made anew"


def test_create_is_repeatable_and_drop_leaves_nothing(bare: Followed):
    name = table(bare).name
    [problem] = bare.feed.problems(bare.session, table(bare))
    assert problem.text == "its triggers are not installed"
    assert any("CREATE TRIGGER" in statement for statement in problem.statements)
    bare.create("orders")
    assert bare.feed.problems(bare.session, table(bare)) == []
    assert bare.feed.create(bare.session, [name]) == []
    for statement in bare.feed.drop(bare.session, [name]):
        bare.session.execute(statement)
    [problem] = bare.feed.problems(bare.session, table(bare))
    assert problem.text == "its triggers are not installed"
    bare.witness.do("INSERT INTO orders VALUES (1, 'a', 'tea')")


def test_other_key_asks_for_other_triggers(orders: Followed):
    """The key was widened under the triggers, which know the old one."""
    orders.witness.do(
        {
            "postgresql": "ALTER TABLE orders ALTER COLUMN line TYPE varchar(60)",
            "mysql": "ALTER TABLE orders MODIFY line varchar(60)",
        }[orders.database.kind]
    )
    [problem] = orders.feed.problems(orders.session, table(orders))
    assert problem.text == "the triggers of another version are installed"
    assert any(statement.startswith("DROP TRIGGER") for statement in problem.statements)


def test_tables_of_one_beginning_have_names_of_their_own(bare: Followed):
    """Two long names that are cut to the same text must not share triggers."""
    names = [f"a_table_with_a_name_that_is_rather_long_{end}" for end in ("one", "two")]
    for name in names:
        bare.witness.do(f"CREATE TABLE {name} (id integer PRIMARY KEY)")
    bare.create(*names)
    for name in names:
        start = bare.state(table(bare, name)).now
        bare.witness.do(f"INSERT INTO {name} VALUES (1)")  # noqa: S608
        assert [row["id"] for row in bare.changes(table(bare, name), start, bare.state(table(bare, name)).now)] == [1]


def test_table_without_a_key_is_refused(bare: Followed):
    bare.witness.do("CREATE TABLE plain (id integer)")
    with pytest.raises(Unsupported, match="has no primary key"):
        bare.feed.create(bare.session, [TableName(bare.database.default_schema, "plain")])


# PostgreSQL


@pytest.fixture
def in_postgresql(database: str) -> Iterator[Followed]:
    for followed in _followed(database):
        followed.create("orders")
        yield followed


def test_truncate_asks_for_the_whole_table(in_postgresql: Followed):
    orders = in_postgresql
    orders.witness.do("INSERT INTO orders VALUES (1, 'a', 'tea')")
    start = end(orders)
    orders.witness.do("TRUNCATE orders")
    assert orders.state(table(orders), start).truncated
    assert not orders.state(table(orders), end(orders, start)).truncated


def test_disabled_trigger_is_told(in_postgresql: Followed):
    orders = in_postgresql
    orders.witness.do("ALTER TABLE orders DISABLE TRIGGER USER")
    problems = orders.feed.problems(orders.session, table(orders))
    assert len(problems) == 4
    for problem in problems:
        assert "is disabled" in problem.text
        orders.witness.do(problem.statements[0])
    assert orders.feed.problems(orders.session, table(orders)) == []


def test_replica_role_fires_the_triggers(in_postgresql: Followed):
    orders = in_postgresql
    start = end(orders)
    orders.witness.do("SET session_replication_role = replica")
    orders.witness.do("INSERT INTO orders VALUES (1, 'a', 'tea')")
    assert keys(orders, start) == [(1, "a", INSERT)]


def test_partitions_are_followed(in_postgresql: Followed):
    """Rows that move from one partition to another, and rows that are written to a partition by its own name."""
    orders = in_postgresql
    do = orders.witness.do
    do("CREATE TABLE days (id integer, day integer, PRIMARY KEY (id, day)) PARTITION BY LIST (day)")
    do("CREATE TABLE monday PARTITION OF days FOR VALUES IN (1)")
    do("CREATE TABLE tuesday PARTITION OF days FOR VALUES IN (2)")
    orders.create("days")
    days = table(orders, "days")
    start = orders.state(days).now
    do("INSERT INTO days VALUES (1, 1), (2, 1)")
    do("UPDATE days SET day = 2 WHERE id = 1")
    do("INSERT INTO tuesday VALUES (3, 2)")
    do("DELETE FROM monday WHERE id = 2")
    found = orders.changes(days, start, orders.state(days, start).now)
    assert {(row["id"], row["day"]) for row in found} == {(1, 1), (2, 1), (1, 2), (3, 2)}
    do("TRUNCATE days")
    assert orders.state(days, start).truncated


DAYS = """
CREATE TABLE days (id integer, day integer, PRIMARY KEY (id, day)) PARTITION BY LIST (day);
CREATE TABLE monday PARTITION OF days FOR VALUES IN (1);
CREATE TABLE tuesday PARTITION OF days FOR VALUES IN (2)
"""


def test_partition_alone_is_followed_through_its_parent(in_postgresql: Followed):
    """Statements that name the parent fire no statement trigger of a partition."""
    orders = in_postgresql
    do = orders.witness.do
    do(DAYS)
    orders.create("monday")
    monday = table(orders, "monday")
    start = orders.state(monday).now
    do("INSERT INTO days VALUES (1, 1), (2, 1), (3, 2), (4, 2)")
    do("UPDATE days SET day = 2 WHERE id = 1")
    do("UPDATE days SET day = 1 WHERE id = 3")
    do("DELETE FROM days WHERE id = 2")
    found = orders.changes(monday, start, orders.state(monday, start).now)
    expected = {(1, INSERT), (2, INSERT), (1, DELETE), (3, INSERT), (2, DELETE)}
    assert {(row["id"], row["tidegate_operation"]) for row in found} == expected
    do("TRUNCATE days")
    assert orders.state(monday, start).truncated


def test_table_that_became_a_partition_is_refused(in_postgresql: Followed):
    """Its statement triggers miss what is written through the parent. With the right ones the log begins anew."""
    orders = in_postgresql
    do = orders.witness.do
    do("CREATE TABLE days (id integer, line varchar(20), item varchar(40), PRIMARY KEY (id)) PARTITION BY RANGE (id)")
    do("ALTER TABLE orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (id), ALTER line DROP NOT NULL")
    orders.create("orders")
    start = orders.state(table(orders)).now
    do("ALTER TABLE days ATTACH PARTITION orders DEFAULT")
    do("INSERT INTO days VALUES (1, 'a', 'missed')")
    assert orders.state(table(orders), start).changes == 0
    [problem] = orders.feed.problems(orders.session, table(orders))
    assert problem.text == "the triggers of another version are installed"
    orders.create("orders")
    assert orders.feed.problems(orders.session, table(orders)) == []
    assert orders.state(table(orders), start).lost == "the log of the triggers was made anew"


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("TRUNCATE monday", "a partition of public.days was truncated or written anew"),
        ("ALTER TABLE days DETACH PARTITION monday", "a partition of public.days was detached or dropped"),
        ("DROP TABLE monday", "a partition of public.days was detached or dropped"),
        ("ALTER TABLE days ATTACH PARTITION others FOR VALUES IN (3)", "a partition was attached to public.days"),
        ("CREATE TABLE friday PARTITION OF days FOR VALUES IN (5)", ""),
    ],
)
def test_rows_that_came_or_went_with_a_partition_are_told(in_postgresql: Followed, statement: str, why: str):
    orders = in_postgresql
    do = orders.witness.do
    do(DAYS)
    do("CREATE TABLE others (id integer, day integer, PRIMARY KEY (id, day))")
    orders.create("days")
    days = table(orders, "days")
    do("INSERT INTO days VALUES (1, 1)")
    start = orders.state(days).now
    do(statement)
    state = orders.state(days, start)
    assert state.untold == why
    assert orders.state(days, state.now).untold == ""


def test_disabled_trigger_of_a_partition_is_told(in_postgresql: Followed):
    orders = in_postgresql
    orders.witness.do(DAYS)
    orders.create("days")
    days = table(orders, "days")
    assert orders.feed.problems(orders.session, days) == []
    orders.witness.do("ALTER TABLE monday DISABLE TRIGGER USER")
    problems = orders.feed.problems(orders.session, days)
    assert len(problems) == 3  # the trigger of TRUNCATE is on the parent alone
    for problem in problems:
        assert problem.text.endswith("is disabled: changes since then are missing in the log")
        assert problem.statements[1] == "-- and then: tidegate run days --reload"
        orders.witness.do(problem.statements[0])
    assert orders.feed.problems(orders.session, days) == []


def test_table_with_heirs_is_refused(in_postgresql: Followed):
    orders = in_postgresql
    orders.witness.do("CREATE TABLE later_orders () INHERITS (orders)")
    [problem] = orders.feed.problems(orders.session, table(orders))
    assert "tables inherit from public.orders (public.later_orders)" in problem.text
    with pytest.raises(Unsupported, match="do not see what is written to them"):
        orders.feed.create(orders.session, [table(orders).name])


def test_writer_needs_no_right_on_the_log(in_postgresql: Followed):
    orders = in_postgresql
    start = end(orders)
    for statement in (
        "CREATE ROLE feed_writer",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO feed_writer",
        "SET ROLE feed_writer",
        "INSERT INTO orders VALUES (1, 'a', 'tea')",
        "RESET ROLE",
        "DROP OWNED BY feed_writer",
        "DROP ROLE feed_writer",
    ):
        orders.witness.do(statement)
    assert keys(orders, start) == [(1, "a", INSERT)]
