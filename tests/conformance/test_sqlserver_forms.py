"""One server in every connection format: ODBC, ADO.NET, SQLAlchemy and JDBC, with a password full of quotes.

It needs a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import pymssql
import pytest

from conformance.servers.sqlserver import Server
from kit.one_process import OneProcess
from kit.sqlserver_witness import SqlServerWitness, login, written
from tidegate import Tidegate

PASSWORD = "Tide;gate}1\"{2}'@ =%41+\\/"


class Place(NamedTuple):
    """Where a login of few rights is at home."""

    host: str
    port: int
    database: str
    user: str


def odbc(place: Place) -> str:
    password = PASSWORD.replace("}", "}}")
    return (
        f"Driver={{ODBC Driver 18 for SQL Server}};Server=tcp:{place.host},{place.port};Database={place.database};"
        f"UID={place.user};PWD={{{password}}};Encrypt=yes;TrustServerCertificate=yes"
    )


def ado_net(place: Place) -> str:
    password = PASSWORD.replace('"', '""')
    return (
        f"Data Source=tcp:{place.host},{place.port};Initial Catalog={place.database};User ID={place.user};"
        f'Password="{password}";Encrypt=True;TrustServerCertificate=True;Connection Timeout=30'
    )


def sqlalchemy(place: Place) -> str:
    return (
        f"mssql+pyodbc://{place.user}:{quote(PASSWORD, safe='')}@{place.host}:{place.port}/{place.database}"
        "?driver=ODBC+Driver+18+for+SQL+Server&Encrypt=yes&TrustServerCertificate=yes"
    )


def odbc_in_a_url(place: Place) -> str:
    return f"mssql+pyodbc:///?odbc_connect={quote(odbc(place), safe='')}"


def jdbc(place: Place) -> str:
    password = PASSWORD.replace("}", "}}")
    return (
        f"jdbc:sqlserver://{place.host}:{place.port};databaseName={place.database};user={place.user};"
        f"password={{{password}}};encrypt=true;trustServerCertificate=true;loginTimeout=30"
    )


FORMS = (odbc, ado_net, sqlalchemy, odbc_in_a_url, jdbc)
Form = Callable[[Place], str]


@pytest.fixture
def somebody(tds: Server) -> Iterator[Callable[[], Place]]:
    """Makes databases that belong to logins with that password."""
    logins: list[str] = []
    databases = []

    def make() -> Place:
        database = tds.database()
        url = database.__enter__()
        databases.append(database)
        user = f"form_{uuid.uuid4().hex[:8]}"
        with SqlServerWitness(url) as admin:
            admin.do(f"CREATE LOGIN {user} WITH PASSWORD = {written(PASSWORD)}")
            logins.append(user)
            admin.do(f"ALTER AUTHORIZATION ON DATABASE::{urlsplit(url).path[1:]} TO {user}")
        given = login(url)
        return Place(given["server"], int(given["port"]), given["database"], user)

    yield make
    for database in databases:
        database.__exit__(None, None, None)
    with SqlServerWitness(tds.url) as admin:
        for user in logins:
            admin.do(f"DROP LOGIN {user}")


def connected(place: Place) -> pymssql.Connection:
    return pymssql.connect(
        server=place.host,
        port=str(place.port),
        user=place.user,
        password=PASSWORD,
        database=place.database,
        autocommit=True,
        tds_version="7.4",
    )


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_connection_format_works(form: Form, somebody: Callable[[], Place], tmp_path: Path):
    """A run and `verify` work with each connection format, and no output shows the password."""
    source, target = somebody(), somebody()
    with closing(connected(source)) as witness, witness.cursor() as cursor:
        cursor.execute("CREATE TABLE t (cob int, id int, amount decimal(38,18), note nvarchar(20))")
        cursor.execute("INSERT INTO t VALUES (1, 1, 0.000000000000000001, N'山'), (2, 2, NULL, N'')")
    project = Tidegate(
        source=form(source),
        target=form(target),
        lake=tmp_path,
        tables={"t": {"kind": "partition", "partition_column": "cob"}},
        spark=OneProcess(),  # type: ignore[arg-type]
    )

    report = project.run()

    assert report.rows_loaded == 2
    assert PASSWORD not in repr(project)
    assert PASSWORD not in str(report)
    assert project.verify().outcome == "equal"
    with closing(connected(target)) as witness, witness.cursor() as cursor:
        cursor.execute("SELECT id, CONVERT(varchar(50), amount), note FROM t ORDER BY id")
        assert cursor.fetchall() == [(1, "0.000000000000000001", "山"), (2, None, "")]
