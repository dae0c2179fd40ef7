"""Which columns of SQL Server take which, and how its driver is given a host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.databases.sqlserver import SqlServer
from tidegate.databases.sqlserver.types import holds
from tidegate.model.columns import Column
from tidegate.model.connection import Connection

UAT = SqlServer(Connection("sqlserver", "uat", 1433, "db", "u", "p"))


def column(declared: str) -> Column:
    held = holds(declared)
    return Column("amount", declared, held.rests_as, holds=held, database="sqlserver")


@pytest.mark.parametrize(
    ("source", "target", "verdict"),
    [
        ("money", "money", "same"),
        ("smallmoney", "money", "wider"),
        ("money", "decimal(19,4)", "wider"),
        ("decimal(18,4)", "money", "wider"),
        ("decimal(19,4)", "money", "amount is money in the target, where not every decimal(19,4) has room"),
        ("decimal(9,4)", "smallmoney", "wider"),
        ("decimal(10,4)", "smallmoney", "amount is smallmoney in the target, where not every decimal(10,4) has room"),
        ("money", "smallmoney", "widen"),
    ],
)
def test_money_takes_what_has_room_in_it(source: str, target: str, verdict: str):
    assert UAT.fits(column(source), column(target)) == verdict


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
