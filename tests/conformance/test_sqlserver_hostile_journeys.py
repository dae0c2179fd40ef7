"""Unusual names, partition values and random values with SQL Server as source, target or both.

It needs a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`). What a compatible server lacks is counted.
"""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from conformance.conftest import Roads
from conformance.journey import Journey, Road, SqlServerSide, Traveller
from conformance.test_hostile_journeys import (
    BINARY,
    CHARACTERS,
    HOSTILE,
    NAMES,
    TEXT,
    clock,
    create,
    drop,
    each_is_its_own,
    pass_whole_way,
    scaled,
    whole,
)
from kit.copies import database_at
from kit.summary import GAPS
from tidegate.databases.sqlserver import SqlServer
from tidegate.model.connection import Connection
from tidegate.sql.text import Literal, Name
from tidegate.sql.text import sql as statement

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

HOME, AWAY, BACK = Road("sqlserver", "sqlserver"), Road("sqlserver", "postgresql"), Road("postgresql", "sqlserver")


# Names

LOST_BY_COMPATIBLE = {
    "found": "takes it for a variable of its own",
    "表 中文": "tells the driver its names in one code page",
    'say "hi"': "does not find the rights on such a table",
}


def test_hostile_names_survive(tds_roads: Roads, request: pytest.FixtureRequest):
    """Tables and columns with hostile names are copied, also names with brackets that must be doubled."""
    hostile = [*HOSTILE, "]", "a]]b[", "N'x'", "GO"]
    if tds_roads.sqlserver.is_compatible:  # type: ignore[union-attr]
        for name, why in LOST_BY_COMPATIBLE.items():
            hostile.remove(name)
            request.config.stash[GAPS][f"the name {name}: a compatible server {why}"] += 1

    pass_whole_way(tds_roads, HOME, dict(zip(hostile, [*hostile[1:], hostile[0]], strict=True)))


@pytest.mark.parametrize("columns", [["sameName", "SAMENAME"], ["x" * 129]], ids=["case", "too long"])
def test_unsupported_target_names_are_refused(columns: list[str]):
    """Column names that differ only in case, or are longer than 128 characters, are refused."""
    refused = SqlServer(Connection("sqlserver", "nowhere", 1433, "none")).invalid_names(columns)
    assert list(refused) == columns


# Partition values

SOME_ALIKE = ["a", "A", "a ", "a  ", "ä", "", " ", "a\N{SYMBOL FOR SPACE}", "🙂"]


@pytest.mark.parametrize(
    ("road", "collation", "indexed"),
    [(HOME, "Latin1_General_CI_AS", True), (AWAY, "Latin1_General_100_BIN2", False)],
    ids=["SQL Server to SQL Server", "SQL Server to PostgreSQL"],
)
def test_collation_equal_texts_are_separate_values(road: Road, collation: str, indexed: bool, tds_roads: Roads):
    """Texts that the source's collation treats as equal are separate partition values, with and without an index."""
    source, there = tds_roads.ends(road)
    assert isinstance(source, SqlServerSide)
    table, kinds = f"by_{collation}", {"cobid": f"nvarchar(20) COLLATE {collation}", "id": "int"}
    for side in (source, there):
        drop(side, table)
    source.witness.create(table, kinds)
    if indexed:
        source.witness.do(f"CREATE INDEX ix ON {table} (cobid)")
    source.witness.insert(table, kinds, [(value, str(number)) for number, value in enumerate(SOME_ALIKE)])

    each_is_its_own(tds_roads, road, table, SOME_ALIKE)


def test_sqlserver_equal_texts_are_separate_values(tds_roads: Roads):
    """Texts of PostgreSQL that SQL Server treats as equal are separate partition values."""
    table = "by_text"
    for side in tds_roads.ends(BACK):
        drop(side, table)
    rows: list[tuple[object, ...]] = [(value, number) for number, value in enumerate(SOME_ALIKE)]
    create(tds_roads.side("postgresql", "source"), table, {"cobid": "text", "id": "integer"}, rows)

    each_is_its_own(tds_roads, BACK, table, SOME_ALIKE)


# Literals


def test_random_text_survives_as_sqlserver_literal(tds_roads: Roads):
    """Any text that is written into a statement as a literal or a name is read by SQL Server as the same text."""
    texts = st.text(CHARACTERS, max_size=40) | st.text("\\'\"`%;-#\n\x1a []", max_size=12)

    with database_at(tds_roads.side("sqlserver", "target").url).connect("test") as session:

        @settings(max_examples=100, deadline=None)
        @given(texts)
        def is_read_back(text: str) -> None:
            assert session.query(statement("SELECT {text}", text=Literal(text, "nvarchar(100)"))) == [(text,)]

        @settings(max_examples=40, deadline=None)
        @given(NAMES)
        def names_a_column(name: str) -> None:
            assert session.query(statement("SELECT made.{name} FROM (SELECT 7 AS {name}) AS made", name=Name.of(name)))

        is_read_back()
        names_a_column()


# Random values

SQLSERVER_VALUES: dict[str, tuple[str, st.SearchStrategy[str | bytes]]] = {
    "bit": ("truth", whole(0, 1)),
    "tinyint": ("number", whole(0, 255)),
    "smallint": ("number", whole(-(2**15), 2**15 - 1)),
    "int": ("number", whole(-(2**31), 2**31 - 1)),
    "bigint": ("number", whole(-(2**63), 2**63 - 1)),
    "decimal(38,0)": ("number", whole(-(10**38) + 1, 10**38 - 1)),
    "decimal(38,19)": ("number", scaled(38, 19)),
    "numeric(9,4)": ("number", scaled(9, 4)),
    "money": ("money", scaled(18, 4)),
    "smallmoney": ("money", scaled(9, 4)),
    "real": (
        "float",
        st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False).filter(bool).map(repr),
    ),
    "float": ("float", st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False).filter(bool).map(repr)),
    "date": ("date", st.dates().map(str)),
    "time(6)": ("clock", st.integers(0, 24 * 3600 * 10**6 - 1).map(clock)),
    "datetime2(6)": ("moment", st.datetimes().map(lambda moment: moment.isoformat(" ", "microseconds"))),
    "datetime2(3)": ("moment", st.datetimes().map(lambda moment: moment.isoformat(" ", "milliseconds"))),
    "smalldatetime": (
        "moment",
        st.datetimes(datetime(1900, 1, 1), datetime(2079, 6, 6)).map(
            lambda moment: moment.replace(second=0).isoformat("T", "seconds")
        ),
    ),
    "datetimeoffset(6)": (
        "zoned",
        st.tuples(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)), st.integers(-14 * 60, 14 * 60)).map(
            lambda parts: (
                f"{parts[0].isoformat(' ', 'microseconds')}"
                f" {'-' if parts[1] < 0 else '+'}{abs(parts[1]) // 60:02}:{abs(parts[1]) % 60:02}"
            )
        ),
    ),
    "nvarchar(90)": ("text", TEXT),
    "nvarchar(max)": ("text", TEXT),
    "varchar(90)": ("text", st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)),
    "nchar(90)": ("filled", TEXT),
    "varbinary(60)": ("bytes", BINARY),
    "varbinary(max)": ("bytes", BINARY),
    "uniqueidentifier": ("uuid", st.uuids().map(str)),
}


@pytest.mark.parametrize("road", [HOME, AWAY], ids=str)
def test_random_values_of_every_type_survive(road: Road, tds_roads: Roads):
    """Random values of every type arrive unchanged."""
    rows = 12
    values = (st.lists(st.none() | kind, min_size=rows, max_size=rows) for _, kind in SQLSERVER_VALUES.values())

    # A smaller example costs another journey each: the first is good enough.
    @settings(
        max_examples=2,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.tuples(*values))
    def arrive(columns: tuple[list[str | bytes | None], ...]) -> None:
        travellers = [
            Traveller(kind, form, tuple(found))
            for (kind, (form, _)), found in zip(SQLSERVER_VALUES.items(), columns, strict=True)
        ]

        outcomes = Journey(*tds_roads.ends(road), tds_roads.lake(), look_again=False).travel(travellers)

        assert {outcome.type: outcome.wrong for outcome in outcomes if outcome.wrong} == {}

    arrive()
