"""Which columns of SQL Server take which, and how its driver is given a host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.databases.sqlserver import SqlServer
from tidegate.databases.sqlserver.types import logical_type
from tidegate.model.columns import Column, TableSchema
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.tables.drift import compare

UAT = SqlServer(Connection("sqlserver", "uat", 1433, "db", "u", "p"))


def column(declared: str) -> Column:
    held = logical_type(declared)
    return Column("amount", declared, held.storage_type, logical_type=held, database="sqlserver")


@pytest.mark.parametrize(
    ("source", "target", "verdict"),
    [
        ("money", "money", "same"),
        ("smallmoney", "money", "wider"),
        ("money", "decimal(19,4)", "wider"),
        ("decimal(18,4)", "money", "wider"),
        ("decimal(19,4)", "money", "amount is money in the target, which cannot store every decimal(19,4)"),
        ("decimal(9,4)", "smallmoney", "wider"),
        ("decimal(10,4)", "smallmoney", "amount is smallmoney in the target, which cannot store every decimal(10,4)"),
        ("money", "smallmoney", "widen"),
    ],
)
def test_money_takes_what_has_room_in_it(source: str, target: str, verdict: str):
    assert UAT.fits(column(source), column(target)) == verdict


LATIN, GREEK = "COLLATE Latin1_General_CI_AS", "COLLATE Greek_CI_AS"


def collated(declared: str, *, has_default: bool = False) -> Column:
    return replace(column(declared), collation=declared.partition(" COLLATE ")[2], has_default=has_default)


@pytest.mark.parametrize(
    ("source", "target", "where", "why"),
    [
        ("int", "smallint", {}, ""),
        ("decimal(18,2)", "numeric(9,2)", {}, ""),
        (f"varchar(40) {LATIN}", f"varchar(20) {LATIN}", {}, ""),
        (f"varchar(40) {LATIN}", f"varchar(20) {LATIN}", {"indexes": (("cob", "amount"),)}, ""),
        (f"varchar(40) {LATIN}", f"varchar(20) {LATIN}", {"primary_key": ("amount",)}, "part of its primary key"),
        ("bigint", "int", {"indexes": (("amount",),)}, "in an index"),
        ("bigint", "int", {"unique_keys": (("amount",),)}, "in an index"),
        (f"varchar(40) {GREEK}", f"nvarchar(20) {LATIN}", {}, "of another type or collation"),
        (f"varchar(40) {GREEK}", f"varchar(20) {LATIN}", {}, "of another type or collation"),
        ("datetime", "datetime2(0)", {}, "of another type or collation"),
        ("hierarchyid", "varbinary(100)", {}, "of another type or collation"),
    ],
)
def test_a_column_is_widened_only_where_nothing_is_lost_and_the_server_lets_it(source, target, where, why):
    shape = TableSchema(TableName("dbo", "t"), (collated(target),), **where)
    assert why in UAT.widening_problem(collated(source), collated(target), shape)
    assert bool(UAT.widening_problem(collated(source), collated(target), shape)) is bool(why)


def test_a_column_with_a_default_keeps_its_type():
    shape = TableSchema(TableName("dbo", "t"), ())
    assert "has a default" in UAT.widening_problem(column("bigint"), collated("int", has_default=True), shape)
    assert not UAT.widening_problem(column("decimal(18,2)"), collated("decimal(9,2)", has_default=True), shape)


@pytest.mark.parametrize("database", ["sqlserver", "postgresql"])
def test_a_copy_of_an_identity_is_a_plain_column(database: str):
    counted = replace(column("int"), identity=True, database=database)
    assert not UAT.declare(counted).identity


@pytest.mark.parametrize(
    ("host", "port", "instance", "server"),
    [
        ("uat", 1433, "", "{uat,1433}"),
        ("uat", 0, "x", "{uat\\x}"),
        ("::1", 1433, "", "{::1,1433}"),
        ("fe80::1%eth0", 1444, "", "{fe80::1%eth0,1444}"),
    ],
)
def test_the_driver_takes_a_host_with_colons_without_brackets(host: str, port: int, instance: str, server: str):
    options = (("instance", instance),) if instance else ()
    login = SqlServer(Connection("sqlserver", host, port, "db", "u", "p", options))._login()
    assert login.startswith(f"Server={server};Database={{db}};")


def keyed(declared: str, database: str = "postgresql", key: str = "primary_key") -> TableSchema:
    name = replace(collated(declared), nullable=False, database=database)
    keys = {"primary_key": ("amount",)} if key == "primary_key" else {"unique_keys": (("amount",),)}
    return TableSchema(TableName("dbo", "orders"), (name,), **keys)  # type: ignore[arg-type]


def warnings_of(source: TableSchema, target: TableSchema | None) -> list[str]:
    found = compare("orders", source, target, TableName("dbo", "orders"), UAT, None).notices
    return [notice.text for notice in found if notice.severity == "warning"]


@pytest.mark.parametrize(("key", "kind"), [("primary_key", "primary key"), ("unique_keys", "unique key")])
def test_a_key_too_long_for_a_new_table_is_told(key: str, kind: str):
    """1,700 bytes are the most: 851 characters of two bytes are too long, 850 are not."""
    [told] = warnings_of(keyed("nvarchar(851)", "sqlserver", key), None)
    assert f"cannot have the {kind} (amount) of the source: its columns are longer than the 1,700 bytes" in told
    assert warnings_of(keyed("nvarchar(850)", "sqlserver", key), None) == []


@pytest.mark.parametrize(
    ("collation", "ignored"),
    [
        ("Latin1_General_CI_AS", "case"),
        ("SQL_Latin1_General_CP1_CI_AI", "case and accents"),
        ("Latin1_General_CS_AI", "accents"),
        ("Latin1_General_CS_AS", ""),
        ("Latin1_General_100_BIN2", ""),
    ],
)
def test_a_collation_that_ignores_letters_is_told(collation: str, ignored: str):
    """The catalog's collation of a key decides. The same collation in a source of the same kind needs no warning."""
    target = keyed(f"nvarchar(20) COLLATE {collation}", "sqlserver")
    told = warnings_of(keyed("nvarchar(10)"), target)
    assert [f"by {collation}, which ignores {ignored}:" in text for text in told] == [True] * bool(ignored)
    assert warnings_of(target, target) == []
