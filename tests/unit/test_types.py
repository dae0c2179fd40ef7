"""Types in words of no database: what rests as what, what fits what, and what each database declares for another's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.databases.mysql import Mysql
from tidegate.databases.mysql.types import declare
from tidegate.databases.postgresql import Postgresql
from tidegate.interfaces import Database
from tidegate.model.columns import Column
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.model.types import Type, type_fit

DATABASES: list[Database] = [
    Postgresql(Connection("postgresql", "nowhere", 5432, "none")),
    Mysql(Connection("mysql", "nowhere", 3306, "none")),
]
EVERY = [
    *(Type(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(Type(family) for family in ("flag", "bool", "float32", "float64", "date", "number", "uuid", "json", "xml")),
    *(Type("decimal", digits, scale) for digits, scale in ((1, 0), (38, 18), (38, 38), (65, 30), (1000, 500))),
    *(Type(family, digits) for family in ("time", "clock", "timestamp", "instant") for digits in (0, 3, 6)),
    *(Type(family, size) for family in ("string", "binary", "enum") for size in (None, 1, 1024, 70_000)),
    *(Type(family, size) for family in ("char", "trimmed") for size in (1, 255, 4000)),
    *(Type("bits", size) for size in (1, 64, 65)),
    Type("geometry"),
    Type("local", spelling="inet"),
]


def column(holds: Type, database: str = "elsewhere") -> Column:
    return Column("x", "its type", holds.storage_type, logical_type=holds, database=database)


@pytest.mark.parametrize("database", DATABASES, ids=lambda one: one.kind)
@pytest.mark.parametrize("holds", EVERY, ids=str)
def test_what_a_database_declares_takes_what_it_was_declared_for(database: Database, holds: Type):
    source = column(holds)
    made = database.declare(source)
    assert database.fits(source, made) == "same"
    assert (made.storage_type, made.read_as, made.database) == (source.storage_type, holds, database.kind)


@pytest.mark.parametrize("database", DATABASES, ids=lambda one: one.kind)
@pytest.mark.parametrize("holds", EVERY, ids=str)
def test_a_column_of_its_own_kind_keeps_its_type(database: Database, holds: Type):
    assert database.declare(column(holds, database.kind)).type == "its type"


@pytest.mark.parametrize("holds", EVERY, ids=str)
def test_every_type_takes_itself(holds: Type):
    assert type_fit(holds, holds) == "same"


@pytest.mark.parametrize(
    ("target", "source", "verdict"),
    [
        (Type("int64"), Type("int8"), "wider"),
        (Type("int8"), Type("int64"), "widen"),
        (Type("int64"), Type("uint32"), "wider"),
        (Type("int32"), Type("uint32"), ""),
        (Type("uint8"), Type("int16"), "widen"),
        (Type("uint64"), Type("int8"), ""),
        (Type("decimal", 20, 0), Type("uint64"), "wider"),
        (Type("decimal", 19, 0), Type("uint64"), ""),
        (Type("decimal", 30, 2), Type("int8"), ""),
        (Type("decimal", 10, 2), Type("decimal", 8, 2), "wider"),
        (Type("decimal", 8, 2), Type("decimal", 10, 2), "widen"),
        (Type("decimal", 10, 3), Type("decimal", 10, 2), ""),
        (Type("number"), Type("decimal", 10, 2), "wider"),
        (Type("decimal", 10, 2), Type("number"), ""),
        (Type("timestamp", 6), Type("timestamp", 0), "wider"),
        (Type("timestamp", 0), Type("timestamp", 6), "widen"),
        (Type("timestamp", 6), Type("instant", 6), ""),
        (Type("timestamp", 6), Type("date"), ""),
        (Type("string"), Type("string", 10), "wider"),
        (Type("string", 10), Type("string"), "widen"),
        (Type("string", 10), Type("trimmed", 10), "wider"),
        (Type("trimmed", 10), Type("string", 10), ""),
        (Type("char", 10), Type("trimmed", 10), "wider"),
        (Type("char", 10), Type("char", 8), ""),
        (Type("string"), Type("enum", 5), "wider"),
        (Type("enum", 5), Type("string", 5), ""),
        (Type("int8"), Type("bool"), "wider"),
        (Type("bool"), Type("flag"), "wider"),
        (Type("bool"), Type("int8"), ""),
        (Type("float64"), Type("float32"), ""),
        (Type("string"), Type("int8"), ""),
    ],
    ids=str,
)
def test_what_fits_what(target: Type, source: Type, verdict: str):
    assert type_fit(target, source) == verdict


@pytest.mark.parametrize(
    ("column_type", "holds", "collation", "on_mariadb", "on_mysql"),
    [
        ("varchar(9)", Type("string", 9), "utf8mb4_0900_ai_ci", "nopad_bin", "its own"),
        ("varchar(9)", Type("string", 9), "utf8mb4_nopad_bin", "its own", "0900_bin"),
        ("varchar(9)", Type("string", 9), "utf8mb4_uca1400_ai_ci", "its own", "0900_bin"),
        ("varchar(9)", Type("string", 9), "utf8mb4_general_ci", "its own", "its own"),
        ("json", Type("json", spelling="json of MySQL"), "", "longtext", "its own"),
        ("uuid", Type("uuid"), "", "its own", "char(36)"),
        ("inet6", Type("local", spelling="inet6"), "", "its own", "longtext"),
    ],
)
def test_mysql_and_mariadb_do_not_ask_for_what_only_the_other_has(
    column_type: str, holds: Type, collation: str, on_mariadb: str, on_mysql: str
):
    source = Column("x", column_type, holds.storage_type, logical_type=holds, database="mysql", collation=collation)
    for ours, expected in (("utf8mb4_nopad_bin", on_mariadb), ("utf8mb4_0900_bin", on_mysql)):
        made = declare(source, ours).type
        assert made == column_type if expected == "its own" else expected in made


def test_a_row_of_mysql_has_room_for_every_column():
    mysql = DATABASES[1]
    many = [replace(column(Type("string", 255)), name=f"c{number}") for number in range(100)]
    (statement,) = mysql.create_table(TableName("b", "t"), [mysql.declare(one) for one in many], ("c0",), "c1")
    text = mysql.render(statement)
    assert "`c0` varchar(255)" in text
    assert "`c1` varchar(255)" in text
    assert 30 < text.count("longtext") < 60
