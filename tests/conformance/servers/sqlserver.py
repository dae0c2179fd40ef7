"""An available TDS server, and for every type of SQL Server the values that are easily lost.

`TIDEGATE_TEST_SQLSERVER` is its URL or connection string. A compatible server lacks some features of SQL Server: the
tests query which ones, and count them.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, urlsplit, urlunsplit

import pymssql

from conformance.servers.postgresql import ALL_BYTES, STRINGS, Absent
from kit.sqlserver_witness import SqlServerWitness, quoted

GIVEN = "TIDEGATE_TEST_SQLSERVER"
_SEVEN_DIGITS = "SELECT CONVERT(varchar(27), CONVERT(datetime2(7), '2024-01-01 00:00:00.1234567', 121), 121)"
OWN_TYPES = ("rowversion", "json", "vector(3)", "hierarchyid", "geometry", "geography", "sql_variant")
"""What no other database has: `test_sqlserver_own_types.py` has their values."""
_TYPES = (*OWN_TYPES, "xml", "text", "ntext", "image")


@dataclass(frozen=True)
class Server:
    """A running server whose login may create databases."""

    name: str
    url: str

    def ask(self, query: str) -> list[tuple[object, ...]]:
        with SqlServerWitness(self.url) as witness:
            return witness.ask(query)

    @property
    def version(self) -> str:
        return str(self.ask("SELECT @@VERSION")[0][0]).splitlines()[0].strip()

    @property
    def is_compatible(self) -> bool:
        """Not SQL Server, only a server that speaks its language."""
        return "Babelfish" in self.version

    @cached_property
    def abilities(self) -> frozenset[str]:
        """The types that not every server has, `seven digits` of a second, and a `nul` in a text."""
        found = {kind for kind in _TYPES if self._can(f"DECLARE @x AS TABLE (a {kind}); SELECT 1")}
        if self.is_compatible:
            found.discard("json")  # which is PostgreSQL's, and in none of its lists of types
        if str(self.ask(_SEVEN_DIGITS)[0][0]).endswith("1234567"):
            found.add("seven digits")
        if self.ask("SELECT LEN(N'a' + NCHAR(0) + N'b')") == [(3,)]:
            found.add("nul")
        return frozenset(found)

    def _can(self, query: str) -> bool:
        try:
            self.ask(query)
        except pymssql.Error:
            return False
        return True

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new database; dropped at the end."""
        name = f"conf_{uuid.uuid4().hex[:12]}"
        self._do_alone(f"CREATE DATABASE {quoted(name)}")
        try:
            yield urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))
        finally:
            if not self.is_compatible:  # which drops a database whoever is connected to it
                self._do_alone(f"ALTER DATABASE {quoted(name)} SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
            self._do_alone(f"DROP DATABASE {quoted(name)}")

    def _do_alone(self, statement: str) -> None:
        """A compatible server refuses one of two who make or drop a database at the same time."""
        tries = 3
        while tries:
            tries -= 1
            try:
                with SqlServerWitness(self.url) as admin:
                    admin.do(statement)
                break
            except pymssql.Error as problem:
                if not tries or "concurrently" not in str(problem):
                    raise
                time.sleep(random.random())


@contextmanager
def running() -> Iterator[Server]:
    """Raises Absent."""
    given = os.environ.get(GIVEN)
    if not given:
        raise Absent(f"{GIVEN} is not set")
    yield Server(GIVEN, as_url(given))


def as_url(given: str) -> str:
    """One form for both drivers, of whatever form was given."""
    from tidegate.config.secrets import Variables
    from tidegate.config.urls import parse_connection

    place = parse_connection(given, Variables({}))
    options = "&".join(f"{name}={quote(value)}" for name, value in place.options)
    login = f"{quote(place.user, safe='')}:{quote(place.password, safe='')}"
    return f"sqlserver://{login}@{place.host}:{place.port}/{quote(place.database)}?{options}"


@dataclass(frozen=True)
class Sample:
    """Values of one type, as text that the server reads or as bytes to be kept as they are.

    `form` is how a witness sees it (`seen.py`). `never` are values for which some other database has no room: which
    one, and why. `needs` is an ability that not every server has.
    """

    type: str
    values: tuple[str | bytes, ...]
    form: str
    never: tuple[tuple[str, str | bytes, str], ...] = ()
    needs: str = ""

    def missing_on(self, server: Server) -> str:
        """What the server lacks for it; empty when it has all."""
        return "" if not self.needs or self.needs in server.abilities else self.needs


def _whole(kind: str, *values: int) -> Sample:
    return Sample(kind, tuple(map(str, values)), "number")


_NOT_IN_MYSQL = "FLOAT and DOUBLE have no -0"
_TEXTS = tuple(value for value in STRINGS if "\0" not in value)
_SHORT = tuple(value for value in _TEXTS if len(value.encode("utf-16-le")) <= 60)
_BYTES = (b"", b"\0", b"\xff", ALL_BYTES, b"'", b"0x", b"trailing \0 ", b"\xf0\x9f")
_DAYS = ("0001-01-01", "1582-10-10", "1753-01-01", "1969-12-31", "2000-02-29", "2024-03-10", "9999-12-31")
_FLOATS = ("0", "0.1", "-0.1", "1e-37", "16777217", "3.4028234e38", "-3.4028234e38", "123456.789")
_DOUBLES = (
    *_FLOATS,
    "0.30000000000000004",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
    "2.2250738585072014e-308",
)

FAMILIES: dict[str, tuple[Sample, ...]] = {
    "whole numbers": (
        Sample("bit", ("0", "1"), "truth"),
        _whole("tinyint", 0, 1, 255),
        _whole("smallint", -(2**15), -1, 0, 2**15 - 1),
        _whole("int", -(2**31), 0, 2**31 - 1),
        _whole("bigint", -(2**63), 0, 2**63 - 1),
    ),
    "decimals": (
        Sample("decimal(38,18)", ("0", "0.000000000000000001", "99999999999999999999.999999999999999999"), "number"),
        Sample("decimal(38,0)", ("9" * 38, "-" + "9" * 38, "0"), "number"),
        Sample("decimal(38,38)", ("0." + "9" * 38, "0." + "0" * 37 + "1"), "number"),
        Sample("decimal(28,10)", ("123456789012345678.0123456789", "-0.0000000001"), "number"),
        Sample("decimal(9,2)", ("1.50", "-9999999.99", "0"), "number"),
        Sample("numeric(18,4)", ("99999999999999.9999", "-0.0001"), "number"),
        Sample("money", ("922337203685477.5807", "-922337203685477.5808", "0.0001", "0"), "money"),
        Sample("smallmoney", ("214748.3647", "-214748.3648", "0.01"), "money"),
    ),
    "floats": (
        Sample("real", _FLOATS, "float"),
        Sample("float", _DOUBLES, "float", never=(("mysql", "-0.0", _NOT_IN_MYSQL),)),
    ),
    "days and times": (
        Sample("date", _DAYS, "date"),
        Sample("time(0)", ("00:00:00", "23:59:59"), "clock"),
        Sample("time(3)", ("00:00:00.001", "23:59:59.999"), "clock"),
        Sample("time(6)", ("00:00:00.000001", "23:59:59.999999", "12:00:00"), "clock"),
        Sample("time(7)", ("00:00:00.0000001", "23:59:59.9999999", "12:00:00"), "clock", needs="seven digits"),
        Sample("datetime", ("1753-01-01T00:00:00.003", "2024-03-10T02:30:00.997", "9999-12-31T23:59:59.997"), "moment"),
        Sample("smalldatetime", ("1900-01-01T00:00:00", "2079-06-06T23:59:00"), "moment"),
        Sample("datetime2(0)", ("0001-01-01 00:00:00", "9999-12-31 23:59:59"), "moment"),
        Sample(
            "datetime2(6)",
            ("0001-01-01 00:00:00.000001", "2024-03-10 02:30:00", "9999-12-31 23:59:59.999999"),
            "moment",
        ),
        Sample(
            "datetime2(7)",
            ("0001-01-01 00:00:00.0000001", "2024-03-10 02:30:00.5", "9999-12-31 23:59:59.9999999"),
            "moment",
            needs="seven digits",
        ),
        Sample(
            "datetimeoffset(6)",
            ("0001-01-02 00:00:00.000001 +00:00", "2024-03-10 23:59:59.5 +05:30", "9999-12-30 23:59:59.999999 -11:59"),
            "zoned",
        ),
        Sample(
            "datetimeoffset(7)",
            ("0001-01-01 00:00:00.0000001 +00:00", "2024-03-10 23:59:59.1234567 +05:30"),
            "zoned",
            needs="seven digits",
        ),
    ),
    "texts": (
        Sample("nvarchar(30)", _SHORT, "text"),
        Sample("nvarchar(max)", (*_TEXTS, "x" * 100_000, "山" * 5000), "text"),
        Sample("nchar(5)", ("", "a", "a b", "山田"), "filled"),
        Sample("varchar(30)", ("", " ", "a ", "A", "it's", "%_[x]"), "text"),
        Sample("varchar(max)", ("", "y" * 9000), "text"),
        Sample("char(5)", ("", "a", " a"), "filled"),
        Sample("ntext", ("", "山田"), "text", needs="ntext"),
        Sample("text", ("", "old"), "text", needs="text"),
        Sample("uniqueidentifier", ("0B5E36E0-4F4B-4C2F-8A6D-0C2F4F0F0D57",), "uuid"),
        Sample("xml", ("<a/>", '<a b="1"> x </a>', "<a>山</a>"), "text", needs="xml"),
    ),
    "bytes": (
        Sample("varbinary(300)", _BYTES, "bytes"),
        Sample("varbinary(max)", (*_BYTES, ALL_BYTES * 400), "bytes"),
        Sample("binary(4)", (b"\x01\x02\x03\x04", b"\0\0\0\0"), "bytes"),
        Sample("image", (b"", ALL_BYTES), "bytes", needs="image"),
    ),
}
