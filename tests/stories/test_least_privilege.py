"""A login with only the rights that `tidegate grants` prints can run and verify every kind of table."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pymssql
import pytest

from conformance.servers import sqlserver
from conformance.servers.postgresql import Absent
from kit.project import database_on
from kit.sides import ask, do
from kit.sqlserver_witness import as_somebody
from kit.summary import GAPS
from tidegate import Tidegate
from tidegate.errors import DatabaseError, RunFailed

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

PASSWORD = "Few-rights-1"
CREATE_LOGIN = {
    "postgresql": ["CREATE ROLE {login} LOGIN PASSWORD '{password}'"],
    "mysql": ["CREATE USER '{login}' IDENTIFIED BY '{password}'"],
    "sqlserver": ["CREATE LOGIN {login} WITH PASSWORD = '{password}'", "CREATE USER {login} FOR LOGIN {login}"],
}
DROP_LOGIN = {
    "postgresql": ["DROP OWNED BY {login}", "DROP ROLE {login}"],
    "mysql": ["DROP USER '{login}'"],
    "sqlserver": ["DROP USER {login}", "DROP LOGIN {login}"],
}
TABLES = {
    "trades": {"kind": "partition", "partition_column": "cob"},
    "customers": {"kind": "scd2", "business_keys": ["id"], "cursor_column": "changed", "flag_column": "latest"},
    "codes": {"kind": "static", "primary_keys": ["code"], "allow_deletes": True},
}
MOMENT = {"postgresql": "timestamp(3)", "mysql": "datetime(3)", "sqlserver": "datetime2(3)"}
TRADES = "CREATE TABLE trades (cob int NOT NULL, id int NOT NULL, note varchar(20))"


@pytest.fixture(params=["postgresql", "mysql", "sqlserver"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def databases(kind: str, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """URLs of a source and a target for a login with all rights."""
    with ExitStack() as opened:
        if kind != "sqlserver":
            server = request.getfixturevalue({"mysql": "mariadb", "postgresql": "postgres"}[kind])
            yield [opened.enter_context(database_on(server)) for _ in range(2)]
            return
        try:
            found = opened.enter_context(sqlserver.running())
        except Absent as absence:
            request.config.stash[GAPS][str(absence)] += 1
            pytest.skip(str(absence))
        yield [opened.enter_context(found.database()) for _ in range(2)]


@pytest.fixture
def logins(kind: str, databases: list[str]) -> Iterator[list[str]]:
    """URLs of the same databases for two new logins without rights."""
    names = [f"few_{uuid.uuid4().hex[:8]}" for _ in databases]
    for name, place in zip(names, databases, strict=True):
        for statement in CREATE_LOGIN[kind]:
            do(place, statement.format(login=name, password=PASSWORD))
    yield [as_somebody(place, name, PASSWORD) for name, place in zip(names, databases, strict=True)]
    for name, place in zip(names, databases, strict=True):
        for statement in DROP_LOGIN[kind]:
            do(place, statement.format(login=name))


def test_grants_are_sufficient(
    kind: str, databases: list[str], logins: list[str], tmp_path: Path, request: pytest.FixtureRequest
):
    """Without grants a run is refused. With the statements that `grants` prints, runs and `verify` succeed."""
    source, target = databases
    moment = MOMENT[kind]
    bit = "bit" if kind == "sqlserver" else "boolean"
    do(source, TRADES)
    do(source, f"CREATE TABLE customers (id int NOT NULL, name varchar(20), changed {moment} NOT NULL, latest {bit})")
    do(source, "CREATE TABLE codes (code varchar(3) NOT NULL PRIMARY KEY, label varchar(20))")
    do(source, "INSERT INTO trades VALUES (20240131, 1, 'a'), (20240131, 2, NULL)")
    do(source, "INSERT INTO customers VALUES (1, 'first', '2024-01-30', %s)", True)
    do(source, "INSERT INTO codes VALUES ('EUR', 'Euro'), ('USD', 'Dollar')")
    do(target, TRADES)  # this table exists before and belongs to another login
    tables: dict[str, dict[str, Any]] = {**TABLES, "customers": {**TABLES["customers"], "initial_load": "full"}}

    def tidegate() -> Tidegate:
        places = {"source": logins[0], "target": logins[1], "lake": tmp_path / "lake"}
        return Tidegate(**places, tables=tables, engine="process")

    assert _is_refused(tidegate()), "the login has no rights yet"
    for place, statements in zip(databases, tidegate().grants().values(), strict=True):
        for statement in statements:
            _grant(place, statement, request)

    assert tidegate().run().rows_loaded == 5
    do(source, "UPDATE trades SET note = 'b' WHERE id = 1")
    do(source, "INSERT INTO trades VALUES (20240131, 3, 'c')")
    do(source, "UPDATE customers SET latest = %s", False)
    do(source, "INSERT INTO customers VALUES (1, 'second', '2024-01-31', %s)", True)
    do(source, "UPDATE codes SET label = 'Dollars' WHERE code = 'USD'")
    do(source, "DELETE FROM codes WHERE code = 'EUR'")
    tidegate().run()

    assert tidegate().verify().outcome == "equal"
    for table in TABLES:
        assert _rows_in(target, table) == _rows_in(source, table)


def _rows_in(place: str, table: str) -> list[str]:
    statement = {
        "trades": "SELECT * FROM trades",
        "customers": "SELECT * FROM customers",
        "codes": "SELECT * FROM codes",
    }[table]
    return sorted(map(str, ask(place, statement)))


def _is_refused(tidegate: Tidegate) -> bool:
    try:
        return bool(tidegate.run(check=False).failures)
    except (DatabaseError, RunFailed):
        return True


def _grant(place: str, statement: str, request: pytest.FixtureRequest) -> None:
    if statement.startswith("--"):
        return
    try:
        do(place, statement.replace("%", "%%"))
    except pymssql.Error as problem:
        if "not currently supported" not in str(problem):
            raise
        gap = "the rights that `grants` prints: a compatible server has not all of them"
        request.config.stash[GAPS][gap] += 1
        pytest.skip(gap)
