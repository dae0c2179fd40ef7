"""Server errors become Tidegate errors, and their class decides what may be retried."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import NoReturn

import pytest

from conformance.conftest import NewDatabase
from conformance.servers.postgresql import Absent
from kit import sides
from kit.processes import wait_until
from tidegate.config.urls import parse_connection
from tidegate.errors import DatabaseError, DuplicateKey, OutcomeUnknown, Transient, Unreachable
from tidegate.interfaces import BatchSize, Database, ReadRequest, Session
from tidegate.interfaces.worker import SessionCache
from tidegate.model.names import TableName
from tidegate.plugins import database as database_at
from tidegate.sql.text import Literal, Name, sql

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

END = {
    "postgresql": "SELECT pg_terminate_backend({})",
    "mysql": "KILL CONNECTION {}",
    "sqlserver": "KILL {}",
}
NUMBER = {
    "postgresql": "SELECT pg_backend_pid()",
    "mysql": "SELECT CONNECTION_ID()",
    "sqlserver": "SELECT @@SPID",
}
FOREVER = {
    "postgresql": "SELECT pg_sleep(60)",
    "mysql": "SELECT count(*) FROM seq_1_to_1000000000 WHERE seq % 7 = 9",
    "sqlserver": "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000)"
    " SELECT COUNT(*) FROM n OPTION (MAXRECURSION 0)",
}


@dataclass
class Place:
    """A database with a table `t`, and ways to disturb it."""

    url: str
    database: Database
    stack: ExitStack

    @property
    def kind(self) -> str:
        return self.database.kind

    @property
    def table(self) -> Name:
        return Name.of(TableName(self.database.default_schema, "t"))

    def connect(self, **options: float) -> Session:
        return self.stack.enter_context(self.database.connect("test", **options))  # type: ignore[arg-type]

    def end(self, session: Session) -> None:
        number = session.query_user_sql(NUMBER[self.kind])[0]
        sides.do(self.url, END[self.kind].format(int(str(number))))


@pytest.fixture(params=sorted(END))
def place(
    request: pytest.FixtureRequest, new_database: NewDatabase, gaps: Callable[[str], NoReturn]
) -> Iterator[Place]:
    with ExitStack() as databases:
        try:
            url = databases.enter_context(new_database(request.param))
        except Absent as absence:
            gaps(str(absence))
        sides.do(url, "CREATE TABLE t (id int PRIMARY KEY, n int)")
        sides.do(url, "INSERT INTO t VALUES (1, 0), (2, 0)")
        with ExitStack() as stack:
            yield Place(url, database_at(parse_connection(url)), stack)


def test_wrong_password_is_not_shown(place: Place):
    """A wrong password raises `Unreachable` with a remedy, and the message does not contain it."""
    wrong = database_at(replace(place.database.connection, password="not-the-secret", user="somebody"))
    with pytest.raises(Unreachable) as told:
        wrong.connect("test")
    assert "Check" in told.value.remedy
    assert "not-the-secret" not in str(told.value)


def test_unreachable_server_is_reported(place: Place):
    """When nothing listens at the port, connecting raises `Unreachable`."""
    away = replace(place.database.connection, port=1)
    if place.kind == "sqlserver":  # whose driver tries again as long as it may
        away = replace(away, options=(*away.options, ("login_timeout", "2")))
    with pytest.raises(Unreachable, match="No connection to") as told:
        database_at(away).connect("test")
    if place.kind in ("postgresql", "mysql"):
        assert "connection refused" in told.value.happened.lower()


def test_unknown_host_is_named(place: Place):
    """When the name of the host leads nowhere, the message has that name."""
    away = replace(place.database.connection, host="no-such-host.invalid")
    if place.kind == "sqlserver":  # whose driver tries again as long as it may
        away = replace(away, options=(*away.options, ("login_timeout", "2")))
    with pytest.raises(Unreachable, match=r"no-such-host\.invalid"):
        database_at(away).connect("test")


def test_missing_database_is_reported(place: Place):
    """When the database does not exist, connecting raises `Unreachable` and says to check its name."""
    with pytest.raises(Unreachable) as told:
        database_at(replace(place.database.connection, database="nowhere")).connect("test")
    assert "name of the database" in told.value.remedy


def test_closed_connection_is_transient(place: Place):
    """When the server closes a session, the next query raises `Transient`."""
    session = place.connect()
    place.end(session)
    with pytest.raises(Transient):
        session.query(sql("SELECT 1"))
    assert not session.is_open


def test_connection_lost_while_reading_is_transient(place: Place):
    """When the server closes a session while rows are read, reading raises `Transient` and never ends early."""
    wide = "INSERT INTO t SELECT id + 10, n FROM t"
    sides.do(place.url, "ALTER TABLE t ADD filler varchar(8000)")
    sides.do(place.url, "UPDATE t SET filler = %s", "x" * 8000)
    for number in range(12):
        sides.do(place.url, wide.replace("n FROM", "n, filler FROM").replace("10", str(10 * 2**number)))
    session = place.connect()
    name = TableName(place.database.default_schema, "t")
    batches = session.read(ReadRequest(name, session.table_schemas([name])[name].columns, batch=BatchSize(rows=10)))
    ended = session.query_user_sql(NUMBER[place.kind])[0]
    next(batches)
    sides.do(place.url, END[place.kind].format(int(str(ended))))

    with pytest.raises(Transient):
        list(batches)


def test_commit_without_answer_is_unknown(place: Place):
    """When the session ends before a commit is answered, `OutcomeUnknown` is raised."""
    session = place.connect()

    def commit() -> None:
        with session.transaction():
            session.execute(sql("UPDATE {t} SET n = 5 WHERE id = 1", t=place.table))
            place.end(session)

    with pytest.raises(OutcomeUnknown):
        commit()
    assert sides.ask(place.url, "SELECT n FROM t WHERE id = 1") == [(0,)]


def test_deadlock_is_transient(place: Place):
    """When two transactions deadlock, one commits and the other raises `Transient`."""
    outcomes: list[type[BaseException] | None] = []
    both = threading.Barrier(2)

    def work(first: int, second: int) -> None:
        try:
            with place.database.connect("test") as session, session.transaction():
                _touch(place, session, first)
                both.wait(10)
                _touch(place, session, second)
            outcomes.append(None)
        except DatabaseError as problem:
            outcomes.append(type(problem))

    threads = [threading.Thread(target=work, args=pair) for pair in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(map(str, outcomes)) == sorted(map(str, [None, Transient]))


def _touch(place: Place, session: Session, number: int) -> None:
    session.execute(sql("UPDATE {t} SET n = n + 1 WHERE id = {id}", t=place.table, id=Literal(number)))


def test_query_timeout_names_the_setting(place: Place, tds_or_absence: object, gaps: Callable[[str], NoReturn]):
    """When a query exceeds `query_timeout`, the remedy names the setting."""
    if place.kind == "sqlserver" and getattr(tds_or_absence, "is_compatible", False):
        gaps("query timeouts: a compatible server goes on with a query that the driver gave up")
    session = place.connect(query_timeout=0.3)
    with pytest.raises(DatabaseError) as told:
        session.query_user_sql(FOREVER[place.kind])
    assert "query_timeout" in told.value.remedy


def test_duplicate_key_error_hides_the_row(place: Place):
    """A duplicate key raises a final error whose message shows no value."""
    session = place.connect()
    with pytest.raises(DatabaseError) as told:
        session.execute(sql("INSERT INTO {t} VALUES (1, 4711)", t=place.table))
    assert not isinstance(told.value, Transient)
    assert type(told.value) is DuplicateKey
    assert "4711" not in str(told.value)


def test_error_rolls_back_and_session_continues(place: Place):
    """When a statement fails, its transaction is rolled back and the session can be used again."""
    session = place.connect()

    def fail() -> None:
        with session.transaction():
            session.execute(sql("UPDATE {t} SET n = 9 WHERE id = 1", t=place.table))
            session.execute(sql("INSERT INTO {t} VALUES (1, 1)", t=place.table))

    with pytest.raises(DatabaseError):
        fail()
    with session.transaction():
        session.execute(sql("UPDATE {t} SET n = 7 WHERE id = 2", t=place.table))
    assert sides.ask(place.url, "SELECT n FROM t ORDER BY id") == [(0,), (7,)]


def test_session_lock_ends_with_its_session(place: Place):
    """A session lock survives transactions and is released when its session closes."""
    first, second = place.connect(), place.connect()
    assert first.try_lock("tidegate table t")
    assert not second.try_lock("tidegate table t")
    assert second.try_lock("tidegate table u")
    with first.transaction():
        first.execute(sql("UPDATE {t} SET n = 1 WHERE id = 1", t=place.table))
    assert not second.try_lock("tidegate table t")
    first.close()
    _eventually(lambda: second.try_lock("tidegate table t"))


def test_transaction_lock_ends_with_its_transaction(place: Place):
    """A transaction lock makes a second transaction wait until the first one ends."""
    first, second = place.connect(), place.connect()
    order: list[str] = []

    def later() -> None:
        with second.transaction():
            second.lock_in_transaction("tidegate value 1")
            order.append("second")

    with first.transaction():
        first.lock_in_transaction("tidegate value 1")
        waiting = threading.Thread(target=later)
        waiting.start()
        waiting.join(0.5)
        order.append("first")
    waiting.join(20)
    assert order == ["first", "second"]


def _eventually(happens: Callable[[], bool]) -> None:
    wait_until(happens, "it happens")


# Pooled sessions


@pytest.fixture
def sessions(place: Place) -> Iterator[SessionCache]:
    with closing(SessionCache()) as found:
        yield found


def test_reused_session_sees_new_rows(place: Place, sessions: SessionCache):
    """A pooled session that is used again starts a new snapshot and sees rows that were added since."""
    seen, used = [], []
    for _ in range(3):
        with sessions.session(place.database, "extract", read_only=True) as session:
            session.export_snapshot()
            seen.append(session.query(sql("SELECT COUNT(*) FROM {t}", t=place.table))[0][0])
            used.append(session)
        sides.do(place.url, "INSERT INTO t SELECT MAX(id) + 1, 0 FROM t")
    assert seen == [2, 3, 4]
    assert used[0] is used[1] is used[2]


def test_failed_session_is_not_reused(place: Place, sessions: SessionCache):
    """When the user of a pooled session fails, that session is closed and its open transaction is rolled back."""
    used = []

    def fail_half_way() -> None:
        with sessions.session(place.database, "load") as session:
            used.append(session)
            session.execute(sql("BEGIN TRANSACTION" if place.kind == "sqlserver" else "BEGIN"))
            session.execute(sql("DELETE FROM {t}", t=place.table))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert not used[0].is_open
    with sessions.session(place.database, "load") as second:
        assert second.query(sql("SELECT COUNT(*) FROM {t}", t=place.table)) == [(2,)]


def test_lost_session_keeps_committed_work(place: Place, sessions: SessionCache):
    """When a session is lost after its commit, the committed rows stay and the next session works."""
    with sessions.session(place.database, "load") as session:
        with session.transaction():
            session.execute(sql("DELETE FROM {t} WHERE id = 1", t=place.table))
        session.export_snapshot()
        place.end(session)
    with sessions.session(place.database, "load") as session:
        assert session.query(sql("SELECT COUNT(*) FROM {t}", t=place.table)) == [(1,)]


def test_session_pool_closes_its_sessions(place: Place):
    """Closing the pool closes its sessions."""
    sessions = SessionCache()
    with sessions.session(place.database, "load") as session:
        pass
    sessions.close()
    assert not session.is_open
