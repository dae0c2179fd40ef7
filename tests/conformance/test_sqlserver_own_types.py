"""Types that only SQL Server has: unchanged between SQL Servers, elsewhere as text or bytes.

It needs a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`). What a compatible server does not support is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pymssql
import pytest

from conformance.conftest import NewDatabase
from conformance.servers.sqlserver import Server
from kit.one_process import OneProcess
from kit.sqlserver_witness import SqlServerWitness
from kit.summary import GAPS
from kit.witness import Witness
from tidegate import Tidegate

pytestmark = pytest.mark.usefixtures("by_bulk_copy")

SEEN = "SELECT id, {} FROM t ORDER BY id"
INSERT = "INSERT INTO t VALUES (1, {}, {})"
TYPE = "CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY(v, '{}'))"
PROPERTIES = ("BaseType", "Precision", "Scale", "MaxLength", "Collation")
IN_VARIANTS = (
    *("CONVERT(bit, 1)", "CONVERT(tinyint, 255)", "CONVERT(smallint, -1)", "CONVERT(int, 7)"),
    *("CONVERT(bigint, 9223372036854775807)", "CONVERT(decimal(9,2), 1.50)", "CONVERT(numeric(38,18), 0.1)"),
    *("CONVERT(float, 0.1)", "CONVERT(real, 0.1)", "CONVERT(money, 1.2345)", "CONVERT(smallmoney, -0.0001)"),
    *("CONVERT(date, '0001-01-01')", "CONVERT(datetime, '2024-01-31T10:00:00.003', 126)"),
    *("CONVERT(smalldatetime, '2024-01-31T10:01:00', 126)", "CONVERT(datetime2(3), '2024-01-31 10:00:00.125', 121)"),
    *("CONVERT(time(6), '23:59:59.999999')", "CONVERT(datetimeoffset(6), '2024-03-10 23:59:59.5 +05:30', 121)"),
    *("CONVERT(varchar(20), 'it''s: 5')", "CONVERT(char(4), 'ab')", "CONVERT(nvarchar(10), N'山: ')", "N''"),
    *("CONVERT(nchar(3), N'x')", "CONVERT(varbinary(4), 0x00FF10)", "CONVERT(binary(3), 0x01)"),
    "CONVERT(uniqueidentifier, '0B5E36E0-4F4B-4C2F-8A6D-0C2F4F0F0D57')",
)


NOT_THERE = {
    "binary(": "does not write bytes as a text",
    **dict.fromkeys(("CONVERT(char(", "CONVERT(nchar("), "does not tell how many blanks belong to it"),
}


@dataclass(frozen=True)
class Own:
    """Values of one type, as T-SQL makes them, and how a witness sees one."""

    values: tuple[str, ...]
    seen: str


OWN = {
    "sql_variant": Own(IN_VARIANTS, ", ".join([*(TYPE.format(name) for name in PROPERTIES), "v"])),
    "hierarchyid": Own(("CONVERT(hierarchyid, '/1/2.1/')", "CONVERT(hierarchyid, '/')"), "CONVERT(varbinary(892), v)"),
    "geometry": Own(
        ("geometry::STGeomFromText('POINT(1 2)', 4326)", "geometry::STGeomFromText('LINESTRING(0 0, 1 1, 2 0)', 0)"),
        "CONVERT(varbinary(max), v)",
    ),
    "geography": Own(("geography::STGeomFromText('POINT(-122.3 47.6)', 4326)",), "CONVERT(varbinary(max), v)"),
    "json": Own(("""CONVERT(json, N'{"a": [1, null, "山"]}')""",), "CONVERT(nvarchar(max), v)"),
    "vector(3)": Own(("CONVERT(vector(3), N'[0.1, -2, 3e10]')",), "CONVERT(nvarchar(max), v)"),
}


@pytest.fixture
def source(tds: Server) -> Iterator[SqlServerWitness]:
    with tds.database() as url, SqlServerWitness(url) as witness:
        yield witness


@pytest.fixture
def target(tds: Server) -> Iterator[SqlServerWitness]:
    with tds.database() as url, SqlServerWitness(url) as witness:
        yield witness


def run(source: SqlServerWitness, target: str, lake: Path, **settings: object) -> None:
    table = settings or {"kind": "partition", "partition_column": "cob"}
    project = Tidegate(source=source.url, target=target, lake=lake, tables={"t": table}, spark=OneProcess())  # type: ignore[arg-type]
    project.run()
    assert project.verify().outcome == "equal"


@pytest.mark.parametrize("kind", OWN)
def test_own_types_survive_between_sqlservers(
    kind: str, tds: Server, source: SqlServerWitness, target: SqlServerWitness, tmp_path: Path, gaps, request
):
    """Values of SQL Server's own types arrive unchanged in another SQL Server."""
    filled(kind, tds, source, gaps, request)

    run(source, target.url, tmp_path)

    question = SEEN.format(OWN[kind].seen)
    assert target.ask(question) == source.ask(question)


@pytest.mark.postgres
@pytest.mark.parametrize("kind", OWN)
def test_own_types_become_text_or_bytes_elsewhere(
    kind: str, tds: Server, source: SqlServerWitness, new_database: NewDatabase, tmp_path: Path, gaps, request
):
    """Values of SQL Server's own types arrive in PostgreSQL as text or bytes, and none is lost."""
    rows = filled(kind, tds, source, gaps, request)

    with new_database("postgresql") as url:
        run(source, url, tmp_path)

        with Witness(url) as witness:
            found = witness.ask("SELECT count(v) FROM t")
    assert found == [(rows,)]


def test_variant_text_contains_its_type(
    tds: Server, source: SqlServerWitness, new_database: NewDatabase, tmp_path: Path, gaps
):
    """A `sql_variant` arrives in PostgreSQL as text with its base type, such as `bigint:15`."""
    if "sql_variant" not in tds.abilities:
        gaps("sql_variant: the server has none")
    source.do("CREATE TABLE t (cob int, id int, v sql_variant)")
    source.do("INSERT INTO t VALUES (1, 1, CONVERT(bigint, 15)), (1, 2, NULL), (1, 3, CONVERT(date, '2024-01-31'))")

    with new_database("postgresql") as url:
        run(source, url, tmp_path)

        with Witness(url) as witness:
            assert witness.ask("SELECT v FROM t ORDER BY id") == [("bigint:15",), (None,), ("date:2024-01-31",)]


def test_variant_keys_distinguish_types(
    tds: Server, source: SqlServerWitness, target: SqlServerWitness, tmp_path: Path, gaps
):
    """With a `sql_variant` key, values of different base types are different keys."""
    if "sql_variant" not in tds.abilities:
        gaps("sql_variant: the server has none")
    source.do("CREATE TABLE t (v sql_variant NOT NULL, note varchar(20))")
    source.do("INSERT INTO t VALUES (CONVERT(varchar(5), 'a'), 'text'), (CONVERT(nvarchar(5), N'A'), 'other')")
    run(source, target.url, tmp_path, kind="static", primary_keys=["v"])
    source.do("UPDATE t SET note = 'changed' WHERE note = 'other'")

    run(source, target.url, tmp_path, kind="static", primary_keys=["v"])

    assert target.ask("SELECT note FROM t ORDER BY note") == [("changed",), ("text",)]


def test_rowversion_is_copied_as_bytes(
    tds: Server, source: SqlServerWitness, target: SqlServerWitness, tmp_path: Path, gaps
):
    """A `rowversion` column is copied into a `binary` column with the same bytes."""
    if "rowversion" not in tds.abilities:
        gaps("rowversion: the server has none")
    source.do("CREATE TABLE t (cob int, id int, v rowversion)")
    source.do("INSERT INTO t (cob, id) VALUES (1, 1), (1, 2)")

    run(source, target.url, tmp_path)

    question = "SELECT id, CONVERT(binary(8), v) FROM t ORDER BY id"
    assert target.ask(question) == source.ask(question)
    assert target.ask("SELECT DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE COLUMN_NAME = 'v'") == [("binary",)]


def filled(
    kind: str,
    tds: Server,
    source: SqlServerWitness,
    gaps: Callable[[str], NoReturn],
    request: pytest.FixtureRequest,
) -> int:
    """Makes a table of all values that the server knows, and a null; how many values there are."""
    if kind not in tds.abilities:
        gaps(f"{kind}: the server has none")
    source.do(f"CREATE TABLE t (cob int, id int, v {kind})")
    source.do("INSERT INTO t VALUES (1, 0, NULL)")
    rows = 0
    for number, value in enumerate(OWN[kind].values, start=1):
        if tds.is_compatible and (not_there := next((why for word, why in NOT_THERE.items() if word in value), "")):
            request.config.stash[GAPS][f"{kind}: {value}: a compatible server {not_there}"] += 1
            continue
        try:
            source.do(INSERT.format(number, value))
        except pymssql.Error:
            if not tds.is_compatible:
                raise
            request.config.stash[GAPS][f"{kind}: {value}: a compatible server does not take it"] += 1
        else:
            rows += 1
    return rows
