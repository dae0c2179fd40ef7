"""Unusual names, partition values and random values between PostgreSQL and MySQL or MariaDB."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from psycopg import sql

from conformance.conftest import Roads
from conformance.journey import ROADS, Journey, MysqlSide, PostgresqlSide, Road, Side, SqlServerSide, Traveller
from conformance.servers.mariadb import EMBEDDED
from kit import sides
from kit.mysql_witness import quoted
from kit.one_process import OneProcess
from kit.sqlserver_witness import quoted as in_quotes
from tidegate import Tidegate
from tidegate.config.secrets import Variables
from tidegate.config.urls import parse_connection
from tidegate.errors import RunFailed
from tidegate.plugins import database
from tidegate.sql.text import Literal, Name
from tidegate.sql.text import sql as statement

pytestmark = pytest.mark.postgres

ACROSS = [road for road in ROADS if "mysql" in (road.source, road.target)]

HOSTILE = [
    "select",
    "UPPER",
    "Mixed Case",
    " in front",
    'say "hi"',
    "it's",
    "back`tick`",
    "[brackets]",
    "{braces} {} {0}",
    "100% %s %(x)s",
    "a.b",
    "..",
    ".hidden",
    "a/b\\c",
    "~tilde~",
    "%2F",
    "semi;colon--",
    "line\nbreak\ttab",
    "Élan Ünder",
    "表 中文",
    "x" * 63,
    "found",
    "value",
]
SECOND = "the other"


def create(side: Side, table: str, columns: dict[str, str], rows: list[tuple[object, ...]]) -> None:
    """Columns by their type: `integer`, `date` or `text`, which all servers spell, SQL Server its own way."""
    if isinstance(side, PostgresqlSide):
        name = sql.Identifier("public", table)
        side.witness.create(name, columns)
        side.witness.insert(name, columns, [[None if cell is None else str(cell) for cell in row] for row in rows])
    elif isinstance(side, SqlServerSide):
        spelled = {name: kind.replace("text", "nvarchar(200)") for name, kind in columns.items()}
        side.witness.create(table, spelled)
        side.witness.insert(table, spelled, [[None if cell is None else str(cell) for cell in row] for row in rows])
    else:
        assert isinstance(side, MysqlSide)
        side.witness.create(
            table, {name: kind.replace("text", "text CHARACTER SET utf8mb4") for name, kind in columns.items()}
        )
        side.witness.insert(table, columns, rows)  # type: ignore[arg-type]


def rows_of(side: Side, table: str, columns: list[str]) -> list[tuple[object, ...]]:
    if isinstance(side, PostgresqlSide):
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        found = side.witness.ask(sql.SQL("SELECT {} FROM {}").format(names, sql.Identifier("public", table)))
    elif isinstance(side, SqlServerSide):
        found = side.witness.ask(f"SELECT {', '.join(map(in_quotes, columns))} FROM {in_quotes(table)}")  # noqa: S608
    else:
        assert isinstance(side, MysqlSide)
        found = side.witness.ask(f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)}")  # noqa: S608
    return sorted(found, key=repr)


def drop(side: Side, table: str) -> None:
    if isinstance(side, PostgresqlSide):
        side.witness.do(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier("public", table)))
    elif isinstance(side, SqlServerSide):
        side.witness.do(f"DROP TABLE IF EXISTS {in_quotes(table)}")
    else:
        assert isinstance(side, MysqlSide)
        side.witness.do(f"DROP TABLE IF EXISTS {quoted(table)}")


def project(roads: Roads, road: Road, tables: dict[str, str]) -> Tidegate:
    """Tables with their partition columns."""
    source, target = roads.ends(road)

    def written(name: str) -> str:
        return '"' + name.replace('"', '""').replace("${", "$${") + '"'

    named = {
        f"table {number}": {
            "kind": "partition",
            "partition_column": column.replace("${", "$${"),
            "source_table": written(table),
            "target_table": written(table),
            "initial_load_count": 100,
            "look_back": 100,
        }
        for number, (table, column) in enumerate(tables.items())
    }
    return Tidegate(
        source=source.url,
        target=target.url,
        lake=roads.lake(),
        tables=named,
        spark=OneProcess(),  # type: ignore[arg-type]
    )


def pass_whole_way(roads: Roads, road: Road, tables: dict[str, str]) -> None:
    source, target = roads.ends(road)
    for table, column in tables.items():
        drop(source, table)
        drop(target, table)
        create(source, table, {column: "integer", SECOND: "text"}, [(1, table), (1, None), (2, column)])
    tidegate = project(roads, road, tables)

    report = tidegate.run()

    assert (report.outcome, report.rows_loaded) == ("done", 3 * len(tables))
    for table, column in tables.items():
        assert rows_of(target, table, [column, SECOND]) == rows_of(source, table, [column, SECOND])
    assert tidegate.run().outcome == "nothing to do"
    for table in tables:
        drop(source, table)
        drop(target, table)


# Names


@pytest.mark.parametrize("road", ACROSS, ids=str)
def test_hostile_names_survive(road: Road, roads: Roads):
    """Tables and columns with quotes, spaces, slashes or reserved words are copied, and a second run does nothing."""
    pass_whole_way(roads, road, dict(zip(HOSTILE, [*HOSTILE[1:], HOSTILE[0]], strict=True)))


_LETTERS = st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"], exclude_characters="\x00$\uffff")
NAMES = st.text(_LETTERS, min_size=1, max_size=20) | st.text("ab`\"'.%{}[]/\\_~ ", min_size=1, max_size=12)


def is_name(name: str) -> bool:
    """For both servers: MySQL's do not end with a blank, PostgreSQL's have 63 bytes."""
    ours = name.lower().startswith("tidegate_") or name.lower() in ("the other", "ctid", "xmin", "xmax", "cmin", "cmax")
    return len(name.encode()) <= 63 and not name[-1].isspace() and not ours and name.lower() != "tableoid"


@pytest.mark.parametrize("road", ACROSS, ids=str)
def test_random_names_survive(road: Road, roads: Roads):
    """Tables and columns with random names are copied, and a second run does nothing."""

    @settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
    @given(st.dictionaries(NAMES.filter(is_name), NAMES.filter(is_name), min_size=4, max_size=4))
    def pass_(tables: dict[str, str]) -> None:
        assume(len({name.casefold() for name in tables}) == len(tables))
        pass_whole_way(roads, road, tables)

    pass_()


@pytest.mark.parametrize(
    ("road", "columns"),
    [
        (Road("postgresql", "mysql"), ["🙂"]),
        (Road("postgresql", "mysql"), ["blank "]),
        (Road("postgresql", "mysql"), ["sameName", "SAMENAME"]),
        (Road("mysql", "postgresql"), ["x" * 64]),
        (Road("mysql", "postgresql"), ["é" * 40]),
        (Road("mysql", "postgresql"), ["é" * 40 + "1", "é" * 40 + "2"]),
        (Road("mysql", "postgresql"), ["ctid"]),
    ],
    ids=repr,
)
def test_unsupported_target_names_are_refused(road: Road, columns: list[str], roads: Roads):
    """Servers cut long names and some treat two spellings as one name. Such a name is refused instead of changed."""
    source, target = roads.ends(road)
    table = "no_such_name"
    for side in (source, target):
        drop(side, table)
    create(source, table, {"cobid": "integer", **dict.fromkeys(columns, "text")}, [(1, *["x"] * len(columns))])

    with pytest.raises(RunFailed) as failed:
        project(roads, road, {table: "cobid"}).run()

    said = str(failed.value.report.failures)  # type: ignore[attr-defined]
    assert columns[-1] in said, said
    assert target.declared(table, "cobid") == "" or rows_of(target, table, ["cobid"]) == []
    drop(source, table)
    drop(target, table)


@pytest.mark.parametrize("column", ["it's", "a 'b' c", 'say "hi"', "back`tick", "100% {}"])
@pytest.mark.parametrize("road", [Road("mysql", "postgresql"), Road("postgresql", "mysql")], ids=str)
def test_refusal_names_a_hostile_column(road: Road, column: str, roads: Roads):
    """When a value is refused, the message contains the column's name, whatever characters it has."""
    source, target = roads.ends(road)
    table = "refused"
    for side in (source, target):
        drop(side, table)
    value = "infinity" if road.source == "postgresql" else "0000-00-00"
    create(source, table, {"cobid": "integer", column: "date"}, [(1, value)])

    with pytest.raises(RunFailed) as failed:
        project(roads, road, {table: "cobid"}).run()

    said = str(failed.value.report.failures)  # type: ignore[attr-defined]
    assert column in said.replace("\\'", "'"), said
    assert rows_of(target, table, ["cobid"]) == []
    drop(source, table)
    drop(target, table)


# Partition values

ALIKE = [
    "a",
    "A",
    "a ",
    "a  ",
    "ä",
    "Ä",
    "á",
    "aa",
    "å",
    "ss",
    "ß",
    "🙂",
    "🙃",
    "",
    " ",
    "\t",
    "a\t",
    "ａ",
    "é",
    "e\u0301",
]
COLLATIONS = {"utf8mb4_general_ci": True, "utf8mb4_unicode_ci": False, "utf8mb4_unicode_520_nopad_ci": True}
"""Collations, and whether the column has an index."""


@pytest.mark.parametrize(("collation", "indexed"), COLLATIONS.items())
@pytest.mark.parametrize("target", ["mysql", "postgresql"])
def test_collation_equal_texts_are_separate_values(
    target: str, collation: str, indexed: bool, roads: Roads, gaps: Callable[[str], NoReturn]
):
    """Texts that the source's collation treats as equal are separate partition values, with and without an index."""
    if "nopad" in collation and "MariaDB" not in roads.mysql.version:
        gaps(f"{collation}: only MariaDB has it")
    road = Road("mysql", target)
    source, there = roads.ends(road)
    assert isinstance(source, MysqlSide)
    table = f"by_{collation}"
    for side in (source, there):
        drop(side, table)
    kind = f"varchar(20) CHARACTER SET utf8mb4 COLLATE {collation}"
    source.witness.create(table, {"cobid": kind, "id": "int"}, more="KEY (cobid)" if indexed else "")
    source.witness.insert(table, ("cobid", "id"), [(value, str(number)) for number, value in enumerate(ALIKE)])

    each_is_its_own(roads, road, table)


def test_mysql_equal_texts_are_separate_values(roads: Roads):
    """Texts of PostgreSQL that MySQL treats as equal are separate partition values."""
    road, table = Road("postgresql", "mysql"), "by_text"
    source, target = roads.ends(road)
    for side in (source, target):
        drop(side, table)
    create(source, table, {"cobid": "text", "id": "integer"}, [(value, number) for number, value in enumerate(ALIKE)])

    each_is_its_own(roads, road, table)


def each_is_its_own(roads: Roads, road: Road, table: str, alike: Sequence[str] = ALIKE) -> None:
    source, target = roads.ends(road)
    tidegate = project(roads, road, {table: "cobid"})

    report = tidegate.run()
    loaded = {step.value: step.rows for step in report.steps if step.step == "load"}
    assert loaded == dict.fromkeys(alike, 1)
    assert rows_of(target, table, ["cobid", "id"]) == rows_of(source, table, ["cobid", "id"])
    assert tidegate.run().outcome == "nothing to do"
    assert tidegate.verify().outcome == "equal"

    # One of them is restated: its neighbours keep their rows.
    sides.do(source.url, f"INSERT INTO {table} (cobid, id) VALUES ('A', 100)")  # noqa: S608
    again = tidegate.run()
    assert {step.value for step in again.steps} == {"A"}
    assert rows_of(target, table, ["cobid", "id"]) == rows_of(source, table, ["cobid", "id"])


# Literals


def test_random_text_survives_as_mysql_literal(roads: Roads):
    """Any text that is written into a statement as a literal or a name is read by MySQL as the same text."""
    ours = database(parse_connection(roads.side("mysql", "target").url, Variables({}), "test"))
    texts = st.text(CHARACTERS, max_size=40) | st.text("\\'\"`%;-#\n\x1a ", max_size=12)

    with ours.connect("test") as session:

        @settings(max_examples=150, deadline=None)
        @given(texts)
        def is_read_back(text: str) -> None:
            ((found, size),) = session.query(
                statement("SELECT {text}, OCTET_LENGTH({text})", text=Literal(text, "varchar(100)"))
            )
            assert (found, int(str(size))) == (text, len(text.encode()))

        @settings(max_examples=60, deadline=None)
        @given(NAMES.filter(is_name).filter(lambda name: name[0].isalnum()))  # an alias loses what stands before
        def names_a_column(name: str) -> None:
            assert session.query(statement("SELECT made.{name} FROM (SELECT 7 AS {name}) AS made", name=Name.of(name)))

        is_read_back()
        names_a_column()


# Random values

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
TEXT = st.text(CHARACTERS, max_size=40) | st.text("\\.\"'\n\r,N%`", max_size=8)
BINARY = st.binary(max_size=40)


def whole(low: int, high: int) -> st.SearchStrategy[str]:
    return st.integers(low, high).map(str)


def scaled(digits: int, scale: int) -> st.SearchStrategy[str]:
    most = 10**digits - 1
    return st.integers(-most, most).map(
        lambda number: f"{'-' if number < 0 else ''}{abs(number) // 10**scale}.{abs(number) % 10**scale:0{scale}}"
    )


def clock(micros: int) -> str:
    seconds, fraction = divmod(micros, 10**6)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"


EPOCH = datetime(1970, 1, 2)
MYSQL_VALUES: dict[str, tuple[str, st.SearchStrategy[str | bytes]]] = {
    "tinyint(1)": ("number", whole(-128, 127)),
    "mediumint unsigned": ("number", whole(0, 2**24 - 1)),
    "bigint": ("number", whole(-(2**63), 2**63 - 1)),
    "bigint unsigned": ("number", whole(0, 2**64 - 1)),
    "decimal(38,19)": ("number", scaled(38, 19)),
    "decimal(65,30)": ("number", scaled(65, 30)),
    "float": (
        "float",
        st.floats(width=32, allow_nan=False, allow_infinity=False).filter(lambda x: abs(x) < 3e38).map(repr),
    ),
    "double": ("float", st.floats(allow_nan=False, allow_infinity=False).map(repr)),
    "varchar(60) CHARACTER SET utf8mb4": ("text", TEXT),
    "text CHARACTER SET utf8mb4": ("text", TEXT),
    "char(60) CHARACTER SET utf8mb4": ("text", TEXT),
    "varbinary(60)": ("bytes", BINARY),
    "blob": ("bytes", BINARY),
    "bit(64)": ("bits", st.binary(min_size=8, max_size=8)),
    "date": ("date", st.dates().map(str)),
    "time(6)": ("clock", st.integers(0, 24 * 3600 * 10**6 - 1).map(clock)),
    "datetime(6)": ("moment", st.datetimes().map(lambda moment: moment.isoformat(" "))),
    "datetime(3)": ("moment", st.datetimes().map(lambda moment: moment.isoformat(" ", "milliseconds"))),
    "timestamp(6) NULL": (
        "instant",
        st.integers(0, 2 * 10**15).map(lambda micros: (EPOCH + timedelta(microseconds=micros)).isoformat(" ")),
    ),
    "year": ("number", whole(1901, 2155)),
    "json": (
        "text",
        st.recursive(st.none() | TEXT, lambda inner: st.lists(inner, max_size=3), max_leaves=4).map(json.dumps),
    ),
}
POSTGRESQL_VALUES: dict[str, tuple[str, st.SearchStrategy[str]]] = {
    "smallint": ("number", whole(-(2**15), 2**15 - 1)),
    "bigint": ("number", whole(-(2**63), 2**63 - 1)),
    "boolean": ("truth", st.booleans().map(str)),
    "numeric(38,19)": ("number", scaled(38, 19)),
    "numeric(65,30)": ("number", scaled(65, 30)),
    "numeric": ("native", scaled(80, 40) | st.sampled_from(["NaN", "1e300", "-1e-300"])),
    "real": (
        "float",
        st.floats(width=32, allow_nan=False, allow_infinity=False).filter(lambda x: 0 < abs(x) < 3e38).map(repr),
    ),
    "double precision": ("float", st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x != 0).map(repr)),
    "text": ("text", TEXT),
    "character varying(60)": ("text", TEXT),
    "character(60)": ("text", TEXT),
    "bytea": ("bytes", BINARY.map(lambda found: f"\\x{found.hex()}")),
    "bit(64)": ("bits", st.text("01", min_size=64, max_size=64)),
    "uuid": ("text", st.uuids().map(str)),
    "date": ("date", st.dates().map(str)),
    "time without time zone": ("clock", st.integers(0, 24 * 3600 * 10**6).map(clock)),
    "timestamp without time zone": ("moment", st.datetimes().map(lambda moment: moment.isoformat(" "))),
    "timestamp with time zone": ("instant", st.datetimes().map(lambda moment: f"{moment.isoformat(' ')}+00")),
    "interval": ("native", st.integers(-(10**15), 10**15).map(lambda micros: f"{micros} microseconds")),
    "integer[]": ("native", st.lists(st.integers(-9, 9), max_size=4).map(lambda found: "{" + str(found)[1:-1] + "}")),
}
RANDOM = {"mysql": MYSQL_VALUES, "postgresql": POSTGRESQL_VALUES}


@pytest.mark.parametrize("road", ACROSS, ids=str)
def test_random_values_of_every_type_survive(road: Road, roads: Roads):
    """Random values of every type arrive unchanged."""
    kinds = RANDOM[road.source]
    rows = 12

    @settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(st.tuples(*(st.lists(st.none() | values, min_size=rows, max_size=rows) for _, values in kinds.values())))
    def arrive(columns: tuple[list[str | bytes | None], ...]) -> None:
        travellers = [
            Traveller(kind, form, tuple(values))
            for (kind, (form, _)), values in zip(kinds.items(), columns, strict=True)
        ]

        outcomes = Journey(*roads.ends(road), roads.lake(), look_again=False).travel(travellers)

        assert {outcome.type: outcome.wrong for outcome in outcomes if outcome.wrong} == {}

    arrive()


# Servers with other settings


def test_server_without_autocommit_is_supported(roads: Roads, gaps: Callable[[str], NoReturn]):
    """A server whose sessions start with `autocommit = 0` works as source and target."""
    if roads.mysql.name != EMBEDDED:
        gaps("autocommit = 0: only a server of our own may be set so")
    road = Road("mysql", "mysql")
    roads.mysql.ask("SET GLOBAL autocommit = 0")
    try:
        pass_whole_way(roads, road, {"without_autocommit": "cobid"})
    finally:
        roads.mysql.ask("SET GLOBAL autocommit = 1")
