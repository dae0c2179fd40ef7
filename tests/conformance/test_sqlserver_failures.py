"""Errors that only SQL Server has: lock timeouts, constraint numbers and broken connections.

It needs a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`). To cut a connection at a statement, the server must
encrypt only the login where nothing more is asked: otherwise the statement cannot be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pytest

from conformance.servers.sqlserver import Server
from kit.copies import database_at
from kit.one_process import OneProcess
from kit.proxy import Wire
from kit.sqlserver_witness import SqlServerWitness
from tidegate import Tidegate
from tidegate.errors import REMEDY_FOR_A_KEY, REMEDY_FOR_A_RULE, DatabaseError, OutcomeUnknown, RunFailed, Transient
from tidegate.interfaces import BatchSize, ReadRequest, Session
from tidegate.model.names import TableName
from tidegate.plugins import database as made
from tidegate.sql.text import Name, sql

T = Name.of(TableName("dbo", "t"))


@pytest.fixture
def witness(tds: Server) -> Iterator[SqlServerWitness]:
    with tds.database() as url, SqlServerWitness(url) as found:
        found.do("CREATE TABLE desks (id int PRIMARY KEY)")
        found.do("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL CHECK (n >= 0), desk int REFERENCES desks (id))")
        found.do("INSERT INTO t VALUES (1, 0, NULL), (2, 0, NULL)")
        yield found


def test_lock_timeout_is_transient(witness: SqlServerWitness):
    """When a lock is not granted in time (error 1222), `Transient` is raised and the session can retry."""
    place = database_at(witness.url).connection
    hurried = made(replace(place, options=(*place.options, ("lock_timeout", "300"))))
    with database_at(witness.url).connect("holds") as holder, hurried.connect("waits") as waiting:
        with holder.transaction():
            holder.execute(sql("UPDATE {t} SET n = 1 WHERE id = 1", t=T))
            with pytest.raises(Transient) as told:
                waiting.execute(sql("UPDATE {t} SET n = 2 WHERE id = 1", t=T))
        assert "(error 1222)" in told.value.happened
        assert waiting.execute(sql("UPDATE {t} SET n = 2 WHERE id = 1", t=T)) == 1


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("INSERT INTO {t} VALUES (1, 4711, NULL)", 2627),
        ("INSERT INTO {t} VALUES (4711, NULL, NULL)", 515),
        ("INSERT INTO {t} VALUES (3, -4711, NULL)", 547),
        ("INSERT INTO {t} VALUES (3, 1, 4711)", 547),
    ],
    ids=["key", "null", "check", "foreign key"],
)
def test_constraint_error_is_final_and_hides_values(statement: str, number: int, witness: SqlServerWitness):
    """A violated constraint raises a final error with its number, and the message shows no value."""
    with database_at(witness.url).connect("test") as session, pytest.raises(DatabaseError) as told:
        session.execute(sql(statement, t=T))
    assert type(told.value) is DatabaseError
    assert f"(error {number})" in told.value.happened
    assert told.value.remedy == (REMEDY_FOR_A_KEY if number == 2627 else REMEDY_FOR_A_RULE)
    assert "4711" not in str(told.value)


def test_abandoned_read_keeps_the_transaction(witness: SqlServerWitness):
    """When the caller stops reading rows early, the open transaction stays usable and commits."""
    witness.do(
        "INSERT INTO t SELECT a.n + 10 * b.n + 100, 0, NULL FROM (VALUES (1), (2), (3), (4), (5)) AS a (n),"
        " (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS b (n)"
    )
    with database_at(witness.url).connect("test") as session:
        name = TableName("dbo", "t")
        request = ReadRequest(name, session.table_schemas([name])[name].columns, batch=BatchSize(rows=1))
        with session.transaction():
            session.execute(sql("UPDATE {t} SET n = 7 WHERE id = 1", t=T))
            next(iter(session.read(request)))
            assert session.query(sql("SELECT @@TRANCOUNT")) == [(1,)]
            session.execute(sql("UPDATE {t} SET n = 7 WHERE id = 2", t=T))
    assert witness.ask("SELECT COUNT(*) FROM t WHERE n = 7") == [(2,)]


# Broken connections


def plain(url: str) -> str:
    """Encrypted no further than the server insists on."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query)) | {"encrypt": "optional"}
    return urlunsplit(parts._replace(query=urlencode(options)))


@pytest.fixture
def wire(witness: SqlServerWitness, gaps: Callable[[str], NoReturn]) -> Callable[..., Wire]:
    """A wire to the server, whose words can be seen."""
    with Wire(plain(witness.url), "", "SELECT 77", encoding="utf-16-le") as test:
        with database_at(test.end).connect("test") as session, suppress(DatabaseError):
            session.query(sql("SELECT 77"))
        if not test.cuts:
            gaps("a wire that breaks at a word: the server encrypts all of it")

    def make(word: str, after: int | None = None) -> Wire:
        return Wire(plain(witness.url), "", word, after, encoding="utf-16-le")

    return make


@pytest.mark.parametrize("after", [None, 0, 5], ids=["before the server", "without an answer", "half an answer"])
def test_commit_without_answer_is_unknown(after: int | None, wire: Callable[..., Wire], witness: SqlServerWitness):
    """When the connection breaks during a commit, `OutcomeUnknown` is raised and the session is closed."""

    def commit(session: Session) -> None:
        with session.transaction():
            session.execute(sql("UPDATE {t} SET n = 5 WHERE id = 1", t=T))

    with wire("COMMIT TRANSACTION", after) as cut, database_at(cut.end).connect("test") as session:
        with pytest.raises(OutcomeUnknown):
            commit(session)
        assert not session.is_open

    found = witness.ask("SELECT n FROM t WHERE id = 1")
    assert found == [(0,)] if after is None else found in ([(0,)], [(5,)])


def test_broken_statement_is_transient(wire: Callable[..., Wire], witness: SqlServerWitness):
    """When the connection breaks during a statement, `Transient` is raised and its transaction is rolled back."""

    def update(session: Session) -> None:
        with session.transaction():
            session.execute(sql("UPDATE {t} SET n = 5 WHERE id = 1", t=T))

    with wire("UPDATE") as cut, database_at(cut.end).connect("test") as session, pytest.raises(Transient) as told:
        update(session)

    assert witness.ask("SELECT n FROM t WHERE id = 1") == [(0,)]
    assert "rolled back" in told.value.safe


@pytest.mark.parametrize("word", ["COMMIT TRANSACTION", "INSERT INTO [dbo].[days]", "INSERT INTO [tidegate].[ledger]"])
def test_run_with_broken_connection_loads_rows_once(
    word: str, wire: Callable[..., Wire], tds: Server, witness: SqlServerWitness, tmp_path: Path
):
    """When the connection breaks at a statement of a run, the retry or the next run loads every row once."""
    witness.do("CREATE TABLE days (cobid int, id int)")
    witness.do("INSERT INTO days VALUES (1, 1), (1, 2), (2, 3)")

    with tds.database() as target, SqlServerWitness(target) as there:
        with Wire(plain(target), "", word, 0, encoding="utf-16-le") as cut:
            _run_until_done(witness.url, cut.end, tmp_path)
        assert cut.cuts >= 1
        assert there.ask("SELECT cobid, id FROM days ORDER BY id") == [(1, 1), (1, 2), (2, 3)]


def _run_until_done(source: str, target: str, lake: Path) -> None:
    def run() -> Any:
        return Tidegate(
            source=source,
            target=target,
            lake=lake,
            tables={"days": {"kind": "partition", "partition_column": "cobid"}},
            spark=OneProcess(),  # type: ignore[arg-type]
        ).run()

    try:
        run()
    except (RunFailed, DatabaseError):
        run()
