"""What only the catalog of SQL Server reports about tables, and what a login with few rights sees.

It needs a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`). What a compatible server lacks is counted.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import NoReturn

import pymssql
import pytest

from conformance.servers.sqlserver import Server
from kit.copies import database_at
from kit.sqlserver_witness import SqlServerWitness, as_somebody
from kit.summary import GAPS
from tidegate.errors import DatabaseError
from tidegate.interfaces import Session
from tidegate.model.columns import TableSchema
from tidegate.model.description import Section
from tidegate.model.names import TableName
from tidegate.sql.text import Name, sql
from tidegate.tables import drift

PASSWORD = "Tidegate-2-few-rights"


@pytest.fixture
def witness(tds: Server) -> Iterator[SqlServerWitness]:
    with tds.database() as url, SqlServerWitness(url) as found:
        yield found


@pytest.fixture
def made(witness: SqlServerWitness, gaps: Callable[[str], NoReturn]) -> Callable[[str, str], None]:
    """Runs a statement; what the server does not know is a gap."""

    def make(statement: str, what: str) -> None:
        try:
            witness.do(statement)
        except pymssql.Error as problem:
            if "not currently supported" not in str(problem):
                raise
            gaps(f"{what}: a compatible server has none")

    return make


def shape_of(url: str, table: str) -> TableSchema | None:
    with database_at(url).connect("test", read_only=True) as session:
        return _shape(session, table)


def remarks_of(url: str, table: str) -> tuple[str, ...]:
    shape = shape_of(url, table)
    assert shape is not None
    return shape.target_notes


def _shape(session: Session, table: str) -> TableSchema | None:
    name = TableName("dbo", table)
    return session.table_schemas([name]).get(name)


# Columns


def test_alias_type_is_resolved(witness: SqlServerWitness):
    """A column of a user-defined alias type is reported with its base type."""
    witness.do("CREATE TYPE dbo.price FROM decimal(18,2)")
    witness.do("CREATE TYPE dbo.code FROM varchar(12)")
    witness.do("CREATE TABLE t (price dbo.price, code dbo.code, name sysname)")

    shape = shape_of(witness.url, "t")

    assert shape is not None
    assert [column.type.partition(" COLLATE ")[0] for column in shape.columns] == [
        "decimal(18,2)",
        "varchar(12)",
        "nvarchar(128)",
    ]
    assert [column.nullable for column in shape.columns] == [True, True, False]


def test_masked_column_is_unreadable_without_unmask(
    witness: SqlServerWitness, made: Callable[[str, str], None], somebody: str
):
    """A masked column is reported as unreadable to a login without the UNMASK right."""
    made("CREATE TABLE t (id int, card varchar(20) MASKED WITH (FUNCTION = 'default()'))", "masked columns")
    witness.do("GRANT SELECT ON dbo.t TO few_rights")

    hidden, seen = shape_of(somebody, "t"), shape_of(witness.url, "t")

    assert hidden is not None
    assert seen is not None
    assert [column.name for column in hidden.columns if column.unreadable] == ["card"]
    assert [column.name for column in seen.columns if column.unreadable] == []


def test_temporal_period_columns_are_generated(witness: SqlServerWitness, made: Callable[[str, str], None]):
    """The period columns of a temporal table are reported as generated, with a remark about its history."""
    made(
        "CREATE TABLE t (id int PRIMARY KEY, since datetime2 GENERATED ALWAYS AS ROW START,"
        " until datetime2 GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (since, until))"
        " WITH (SYSTEM_VERSIONING = ON)",
        "temporal tables",
    )
    shape = shape_of(witness.url, "t")
    assert shape is not None
    assert [column.name for column in shape.columns if column.generated] == ["since", "until"]
    assert "history" in shape.target_notes[0]
    witness.do("ALTER TABLE t SET (SYSTEM_VERSIONING = OFF)")


# Indexes


def test_only_usable_indexes_count(witness: SqlServerWitness, request: pytest.FixtureRequest):
    """Only an index that can find the next value counts: no filtered index, and the column must come first."""
    witness.do("CREATE TABLE t (a int PRIMARY KEY, d int, e int, g int, h int)")
    witness.do("CREATE INDEX some_of_them ON t (d) WHERE d > 0")
    witness.do("CREATE INDEX backwards ON t (e DESC, a)")
    witness.do("CREATE UNIQUE INDEX beside ON t (g) INCLUDE (h)")
    expected = ["a", "e", "g"]
    if witness.ask("SELECT COUNT(*) FROM sys.indexes WHERE has_filter = 1") == [(0,)]:
        request.config.stash[GAPS]["filtered indexes: a compatible server does not tell them"] += 1
        expected = ["a", "d", "e", "g"]

    shape = shape_of(witness.url, "t")

    assert shape is not None
    assert [column.name for column in shape.columns if shape.has_index_on(column.name)] == expected
    assert shape.unique_keys == (("g",),)


# Constraints


def test_check_constraint_is_reported(witness: SqlServerWitness):
    """A check constraint is reported with its name and condition."""
    witness.do("CREATE TABLE t (a int PRIMARY KEY, amount int, CONSTRAINT CK_amount CHECK (amount > 0))")
    witness.do("CREATE TABLE bare (a int PRIMARY KEY, amount int)")

    told = [one for one in remarks_of(witness.url, "t") if "violate a check constraint" in one]

    assert len(told) == 1
    assert "ck_amount" in told[0].casefold()
    assert "amount" in told[0].casefold().partition("ck_amount")[2]
    assert [one for one in remarks_of(witness.url, "bare") if "violate a check constraint" in one] == []


def test_filtered_unique_index_is_reported(witness: SqlServerWitness, gaps: Callable[[str], NoReturn]):
    """A unique index with a filter is reported with its condition."""
    witness.do("CREATE TABLE t (a int PRIMARY KEY, amount int)")
    witness.do("CREATE UNIQUE INDEX UX_amount ON t (amount) WHERE amount > 9")
    if witness.ask("SELECT COUNT(*) FROM sys.indexes WHERE has_filter = 1") == [(0,)]:
        gaps("filtered indexes: a compatible server does not tell them")

    assert [one for one in remarks_of(witness.url, "t") if "UX_amount where" in one and "(9)" in one] != []


# Rights


@pytest.fixture
def somebody(tds: Server, witness: SqlServerWitness) -> Iterator[str]:
    """The URL of a login that has no right in the database yet."""
    login = f"few_{uuid.uuid4().hex[:8]}"
    witness.do(f"CREATE LOGIN {login} WITH PASSWORD = '{PASSWORD}'")
    witness.do(f"CREATE USER few_rights FOR LOGIN {login}")
    yield as_somebody(witness.url, login, PASSWORD)
    witness.do("DROP TABLE IF EXISTS t")  # and with it what was granted
    witness.do("DROP USER few_rights")
    witness.do(f"DROP LOGIN {login}")


def test_select_right_shows_the_primary_key(witness: SqlServerWitness, somebody: str):
    """A login with only SELECT sees the primary key, and a remark says that foreign keys may be hidden."""
    witness.do("CREATE TABLE t (a int NOT NULL, b int NOT NULL, PRIMARY KEY (b, a))")
    witness.do("GRANT SELECT ON dbo.t TO few_rights")

    shape = shape_of(somebody, "t")

    assert shape is not None
    assert shape.primary_key == ("b", "a")
    assert shape.readable
    assert "may refer to it" in shape.target_notes[-1]


def test_unreadable_table_is_not_reported_as_keyless(witness: SqlServerWitness, somebody: str):
    """A login without SELECT gets a permission error with a remedy, not a table without a key."""
    witness.do("CREATE TABLE t (a int PRIMARY KEY)")

    shape = shape_of(somebody, "t")

    assert shape is None or not shape.readable
    with database_at(somebody).connect("test", read_only=True) as session, pytest.raises(DatabaseError) as told:
        session.query(sql("SELECT a FROM {t}", t=Name.of(TableName("dbo", "t"))))
    assert "rant the login" in told.value.remedy
    assert PASSWORD not in str(told.value)


def test_plan_warns_about_hidden_references(witness: SqlServerWitness, somebody: str):
    """When the login cannot see foreign keys, the plan says that other tables may refer to the target."""
    witness.do("CREATE TABLE t (a int PRIMARY KEY)")
    witness.do("GRANT SELECT, INSERT, DELETE ON dbo.t TO few_rights")

    shape = shape_of(somebody, "t")

    assert shape is not None
    database = database_at(somebody)
    found = drift.compare("t", shape, shape, shape.name, database, shape.columns[0])
    assert [one.text for one in found.notices if "may refer to it" in one.text] != []


# The description of a table


def described(url: str, table: str) -> dict[str, Section]:
    with database_at(url).connect("test", read_only=True) as session:
        shape = _shape(session, table)
        assert shape is not None
        return {section.title: section for section in session.describe(shape)}


def test_describe_shows_the_whole_catalog_entry(witness: SqlServerWitness):
    """`describe` shows columns, declarations, indexes, check constraints, foreign keys and the database."""
    witness.do("CREATE TABLE parent (id int NOT NULL PRIMARY KEY)")
    witness.do(
        "CREATE TABLE t (id int IDENTITY(10, 5) NOT NULL CONSTRAINT pk_t PRIMARY KEY, twice AS id * 2,"
        " parent int CONSTRAINT fk_t REFERENCES parent (id) ON DELETE CASCADE,"
        " amount decimal(38,18) NOT NULL CONSTRAINT df_t DEFAULT 0 CONSTRAINT ck_t CHECK (amount >= 0))"
    )
    witness.do("CREATE INDEX ix_t ON t (amount DESC) INCLUDE (parent)")
    witness.do("CREATE SCHEMA other")
    witness.do("CREATE TABLE other.t (another int)")

    found = described(witness.url, "t")

    assert [row[:2] for row in found["columns"].rows][3] == ("amount", "decimal(38,18)")
    declared = {row[0]: row[2] for row in found["columns as declared"].rows}
    assert "identity from 10, by 5" in declared["id"]
    assert declared["twice"].startswith("computed: (")
    assert "= ((0))" in declared["amount"] or "= 0" in declared["amount"]
    # A compatible server adds something of its own to the name of an index.
    assert {("pk_t", "id"), ("ix_t", "amount")} <= {(row[0][:4], row[1]) for row in found["columns of indexes"].rows}
    assert [row[0] for row in found["check constraints"].rows] == ["ck_t"]
    [key] = found["foreign keys, from it and to it"].rows
    assert (key[0], key[2], key[3], key[5], key[6]) == ("fk_t", "t", "parent", "parent", "id")
    assert "on delete CASCADE" in key[7]
    assert found["its database"].rows[0][0] in witness.url


def test_describe_marks_what_the_login_cannot_see(witness: SqlServerWitness, somebody: str):
    """For a login with few rights, each section of `describe` has rows or says why it has none."""
    witness.do("CREATE TABLE t (id int NOT NULL PRIMARY KEY)")
    witness.do("GRANT SELECT ON dbo.t TO few_rights")
    found = described(somebody, "t")
    assert found["columns"].rows[0][:2] == ("id", "int")
    assert all(section.rows or section.problem for section in found.values())
