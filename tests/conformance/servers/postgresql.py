"""Available PostgreSQL servers, and for every type the values that are easily lost."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from kit.debian_postgres import NoPostgres, find
from tidegate.demo.embedded import EmbeddedPostgres

GIVEN = "TIDEGATE_TEST_POSTGRESQL"
DEBIAN = "the distribution's"
SERVERS = ("embedded 18", DEBIAN, GIVEN)

# A database may have any defaults; ours must not depend on them.
_HOSTILE_DEFAULTS = {
    "timezone": "America/New_York",
    "datestyle": "SQL, DMY",
    "intervalstyle": "sql_standard",
    "bytea_output": "escape",
    "extra_float_digits": "0",
    "standard_conforming_strings": "off",
    "xmloption": "document",
    "default_transaction_isolation": "serializable",
    "search_path": "pg_catalog",
}


class Absent(Exception):
    """A server that cannot be had here, and why."""


@dataclass(frozen=True)
class Server:
    """A running server whose login may create databases."""

    name: str
    url: str

    def ask(self, query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(query).fetchall()

    @cached_property
    def version(self) -> int:
        return int(str(self.ask("SHOW server_version_num")[0][0])) // 10_000

    @cached_property
    def abilities(self) -> frozenset[str]:
        """Extensions that are installed there, and `xml` and `icu` where the server was built with them."""
        found = {str(name) for (name,) in self.ask("SELECT name FROM pg_available_extensions")}
        found |= {"icu" for _ in self.ask("SELECT 1 FROM pg_collation WHERE collprovider = 'i' OFFSET 10 LIMIT 1")}
        try:
            self.ask("SELECT CAST('<a/>' AS xml)")
        except psycopg.errors.FeatureNotSupported:
            return frozenset(found)
        return frozenset(found | {"xml"})

    @contextmanager
    def database(self, options: str = "", extensions: frozenset[str] = frozenset()) -> Iterator[str]:
        """The URL of a new database with hostile defaults; dropped at the end, whoever is still connected."""
        name = f"conf_{uuid.uuid4().hex[:12]}"
        made = sql.Identifier(name)
        with psycopg.connect(self.url, autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {} {}").format(made, sql.SQL(options)))
            for setting, value in _HOSTILE_DEFAULTS.items():
                admin.execute(
                    sql.SQL("ALTER DATABASE {} SET {} = {}").format(made, sql.Identifier(setting), sql.Literal(value))
                )
        url = urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))
        with psycopg.connect(url, autocommit=True) as inside:
            for extension in extensions:
                inside.execute(sql.SQL("CREATE EXTENSION {} SCHEMA public").format(sql.Identifier(extension)))
        try:
            yield url
        finally:
            with psycopg.connect(self.url, autocommit=True) as admin:
                admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(made))


@contextmanager
def running(name: str) -> Iterator[Server]:
    """Raises Absent."""
    if name == GIVEN:
        url = os.environ.get(GIVEN)
        if not url:
            raise Absent(f"{GIVEN} is not set")
        yield Server(name, url)
        return
    with _embedded(name) as embedded:
        yield Server(name, embedded.url())


def _embedded(name: str) -> EmbeddedPostgres:
    if name != DEBIAN:
        return EmbeddedPostgres(int(name.split()[1]), durable=False)
    try:
        return EmbeddedPostgres(installed=find(), durable=False)
    except NoPostgres as problem:
        raise Absent(str(problem)) from None


@dataclass(frozen=True)
class Sample:
    """Values of one type, as text that the server reads.

    `odd` are those for which Arrow has no room: a slice that meets one carries its column as text.
    `needs` is an ability of the server, or the lowest version. `seen_as` casts for the witness, where the binary form
    holds numbers that one database gives out.
    """

    type: str
    values: tuple[str, ...]
    odd: tuple[str, ...] = ()
    needs: str | int = 0
    seen_as: str = ""

    def missing_on(self, server: Server) -> str:
        """What the server lacks for it; empty when it has all."""
        if isinstance(self.needs, int):
            return f"PostgreSQL {self.needs}" if server.version < self.needs else ""
        return "" if self.needs in server.abilities else self.needs


ALL_BYTES = bytes(range(256))
ALL_PLANES = "".join(chr(plane * 0x10000 + 0x1234) for plane in range(17))
STRINGS = (
    "",
    " ",
    "plain",
    " in front and behind ",
    "NULL",
    "null",
    "\\N",
    "\\",
    "\\\\",
    "\\n",
    "'",
    "it's",
    '"',
    '""',
    'say "hi", he said',
    ",",
    ",,",
    ";",
    "\t",
    "tab\there",
    "\n",
    "\r",
    "\r\n",
    "one\ntwo\rthree\r\nfour",
    "\n\n",
    '"\n"',
    "\ufeff",
    "\ufeffmark in front",
    "cursor \ufeff inside",
    "é ß ł ø",
    "e\u0301",
    "中文 한국어 عربى",
    "🙂👩‍👩‍👧",
    "𝒳 \U0010ffff \ue000",
    ALL_PLANES,
    "\u200b\u202e\u2028\u2029\x85",
    "\x01\x1f\x7f",
    "%s %(x)s {} {x} $1",
    "-- comment",
    "#",
    "t",
    "true",
    "nan",
    "Infinity",
    "0012",
    "1e5",
    "2024-01-01",
    "\\x00ff",
)
ENDS = ("\\.", "a \\. b", "\\.\n", "\n\\.\n", "above\n\\.\nbelow", "\r\n\\.\r\n", '"\\."', "\\\\.")
"""Strings that COPY could take for the end of its data."""

MOOD = ("sad", 'it\'s "so" so, \\', "🙂", " ")
SETUP = (
    "CREATE TYPE public.mood AS ENUM ('sad', 'it''s \"so\" so, \\', '🙂', ' ')",
    "CREATE DOMAIN public.short AS character varying(5)",
    "CREATE DOMAIN public.shorter AS public.short CHECK (length(VALUE) < 5)",
    "CREATE DOMAIN public.cents AS numeric(12,2) NOT NULL DEFAULT 0",
    "CREATE TYPE public.pair AS (a integer, b text, c timestamp with time zone, d double precision[])",
    "CREATE SCHEMA odd",
    "CREATE TYPE odd.date AS (x text)",
    "CREATE TYPE odd.bytea AS (x text)",
    "CREATE TYPE odd.\"{braces} 100%\" AS ENUM ('{}', '%s')",
)
"""Types that live in one database: the same on both sides."""

_LONG = "9" * 38
FAMILIES: dict[str, tuple[Sample, ...]] = {
    "integers": (
        Sample("smallint", ("0", "-32768", "32767")),
        Sample("integer", ("0", "-2147483648", "2147483647", "-1")),
        Sample("bigint", ("0", "-9223372036854775808", "9223372036854775807", "9007199254740993")),
        Sample("oid", ("0", "4294967295")),
        Sample("boolean", ("true", "false")),
    ),
    "decimals": (
        Sample("numeric(38,0)", ("0", _LONG, f"-{_LONG}"), odd=("NaN",)),
        Sample("numeric(38,38)", ("0", f"0.{_LONG}", f"-0.{_LONG}", "1e-38"), odd=("NaN",)),
        Sample("numeric(38,10)", ("0", "9999999999999999999999999999.9999999999", "-0.0000000001"), odd=("NaN",)),
        Sample("numeric(18,2)", ("0.00", "-0.01", "9999999999999999.99", "1e5"), odd=("NaN",)),
        Sample("numeric(1,0)", ("9", "-9")),
        Sample("numeric(1,1)", ("0.9", "-0.9")),
        Sample("numeric", ("0", "0.0", "1.5", "1.50", "1e20", "1e-20", "NaN", f"-{'7' * 2000}.{'3' * 2000}")),
        Sample("numeric(1000,500)", ("1", "-1", "NaN", f"{'9' * 500}.{'9' * 500}")),
        Sample("numeric(50,10)", (f"{'9' * 40}.{'9' * 10}", "-0.0000000001", "NaN")),
        Sample("numeric(39,0)", ("9" * 39,)),
    ),
    "decimals of newer servers": (
        Sample("numeric", ("Infinity", "-Infinity", "NaN"), needs=14),
        Sample("numeric(5,-2)", ("1234500", "-9999900", "0", "NaN"), needs=15),
        Sample("numeric(2,5)", ("0.00099", "-0.00001", "0", "NaN"), needs=15),
    ),
    "money and bits": (
        Sample("money", ("0", "-0.01", "1234567.89", "92233720368547758.07", "-92233720368547758.08")),
        Sample("bit(1)", ("0", "1")),
        Sample("bit(9)", ("000000000", "101010101", "111111111")),
        Sample("bit varying(20)", ("", "0", "11111111111111111111")),
        Sample("bit varying", ("", "0" * 500 + "1")),
    ),
    "floats": (
        Sample(
            "real",
            (
                "0",
                "-0",
                "NaN",
                "Infinity",
                "-Infinity",
                "1e-45",
                "-1e-45",
                "1.1754942e-38",
                "3.4028235e38",
                "0.1",
                "16777217",
                "1.00000012",
                "-1e10",
            ),
        ),
        Sample(
            "double precision",
            (
                "0",
                "-0",
                "NaN",
                "Infinity",
                "-Infinity",
                "5e-324",
                "-5e-324",
                "2.225073858507201e-308",
                "0.1",
                "1.7976931348623157e308",
                "0.30000000000000004",
                "1e23",
                "9007199254740993",
                "123456789.123456789",
            ),
        ),
    ),
    "strings": (
        Sample("text", (*STRINGS, "long " * 20_000)),
        Sample("character varying(60)", STRINGS),
        Sample("character varying", STRINGS),
        Sample("character(40)", STRINGS),
        Sample("character(1)", ("", " ", "x", "🙂", "\n", '"', "\\")),
        Sample("bpchar", ("", "x", "blanks   ")),
        Sample("name", ("", "x", 'it\'s "x"', "é" * 31)),
        Sample('"char"', ("", "x", " ", "\\", '"', ",")),
    ),
    "bytes": (
        Sample(
            "bytea",
            (
                "\\x",
                "\\x00",
                "\\xff",
                f"\\x{ALL_BYTES.hex()}",
                "\\x5c2e",
                "\\x0a5c2e0a",
                f"\\x{ALL_BYTES.hex() * 4096}",
            ),
        ),
        Sample("uuid", ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff")),
    ),
    "days and clocks": (
        Sample(
            "date",
            ("0001-01-01", "9999-12-31", "1969-12-31", "1970-01-01", "2000-02-29", "1582-10-10"),
            odd=("infinity", "-infinity", "0001-12-31 BC", "4713-01-01 BC", "10000-01-01", "5874897-12-31"),
        ),
        Sample("time without time zone", ("00:00:00", "23:59:59.999999", "12:34:56.7"), odd=("24:00:00",)),
        Sample("time(0) without time zone", ("00:00:00", "23:59:59"), odd=("24:00:00",)),
        Sample("time(3) without time zone", ("00:00:00.001",)),
        Sample(
            "time with time zone",
            ("00:00:00+00", "23:59:59.999999-15:59", "24:00:00+05:30", "10:00:00+02:30:15"),
        ),
    ),
    "moments": (
        Sample(
            "timestamp without time zone",
            (
                "0001-01-01 00:00:00",
                "9999-12-31 23:59:59.999999",
                "1969-12-31 23:59:59.999999",
                "1970-01-01",
                # The hour that New York skips, and the one that it has twice.
                "2024-03-10 02:30:00",
                "2024-11-03 01:30:00",
                "2024-01-31 10:00:00.000001",
            ),
            odd=("infinity", "-infinity", "4713-01-01 00:00:00 BC", "10000-01-01", "294276-12-31 23:59:59.999999"),
        ),
        Sample(
            "timestamp with time zone",
            (
                "0001-01-01 00:00:00+00",
                "9999-12-31 23:59:59.999999+00",
                "1969-12-31 23:59:59.999999+00",
                "2024-03-10 07:30:00+00",
                "2024-11-03 05:30:00+00",
                "2024-11-03 06:30:00+00",
                "2024-01-31 10:00+05:45",
            ),
            odd=("infinity", "-infinity", "4713-01-01 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00"),
        ),
        Sample("timestamp(0) without time zone", ("2024-01-31 10:00:00",), odd=("infinity",)),
        Sample("timestamp(3) with time zone", ("2024-01-31 10:00:00.123+00",), odd=("-infinity",)),
        Sample(
            "interval",
            (
                "0",
                "1 mon",
                "30 days",
                "1 year -1 mon 3 days -04:05:06.789",
                "-1 mons +2 days -03:00:00.5",
                "-0.000001 s",
                "-178000000 years",
                "178000000 years",
                "-2147483648 days",
                "2562047788:00:54.775807",
            ),
        ),
        Sample("interval day to second(3)", ("1 day 00:00:00.123",)),
        Sample("interval year to month", ("3 years 2 mons",)),
    ),
    "moments of newer servers": (
        Sample("interval", ("infinity", "-infinity"), needs=17),
        Sample("interval", ("-2562047788 hours -54.775808 secs",), needs=15),
    ),
    "documents": (
        Sample(
            "json", ('{"b": 1,  "a":2, "a" :3}', "null", '"\\u0000 \\ud83d\\ude42"', "[1e400, 1.50]", '"\\\\."', " 1 ")
        ),
        Sample("jsonb", ('{"b": 1, "a": [null, true, 1.50, "é🙂"]}', "null", '""', "[1e400]", json.dumps('"\\,\n'))),
        Sample("jsonpath", ('$."a b"[*] ? (@ > 1)',)),
        Sample("tsvector", ("", "'a':1A 'it''s':2 '\\\\':3", "fat:2,4 cat:3 rat:5A")),
        Sample("tsquery", ("'a' & !'b' | 'it''s':*A",)),
    ),
    "xml": (Sample("xml", ("<a/>", "text", '<a b="c">d&amp;\n</a>', ""), needs="xml"),),
    "hstore": (Sample("public.hstore", ("", '"a"=>NULL, "b\\""=>"\\\\ , =>"'), needs="hstore"),),
    "citext": (Sample("public.citext", ("", "MiXed", "mixed", "É"), needs="citext"),),
    "arrays": (
        Sample("integer[]", ("{}", "{1,NULL,-3}", "{{1,2},{NULL,4}}", "[0:1]={5,6}", "[-2:-1][3:3]={{1},{2}}")),
        Sample("text[]", ("{}", '{NULL,"NULL",""," "}', '{"a,b","c\\"d","e\\\\f","{}","\ng","🙂"}')),
        Sample("numeric[]", ("{1.50,NaN,NULL}",)),
        Sample("double precision[]", ("{NaN,-0,5e-324,Infinity}",)),
        Sample("date[]", ("{infinity,2024-01-01,NULL}", '{"0044-03-15 BC"}')),
        Sample("timestamp with time zone[]", ('{"2024-03-10 07:30:00.000001+00",infinity}',)),
        Sample("bytea[]", ('{"\\\\x00ff",NULL,"\\\\x"}',)),
        Sample("boolean[]", ("{t,f,NULL}",)),
        Sample("interval[]", ('{"1 mon","-00:00:01"}',)),
        Sample("money[]", ('{"$1,234.50",NULL,"-$0.01"}',)),
        Sample("json[]", ('{"{\\"a\\":  1}"}',)),
    ),
    "ranges": (
        Sample("int4range", ("empty", "[1,5)", "(,)", "[1,)")),
        Sample("numrange", ("[1.50,2.0]", "(,1.0)")),
        Sample("daterange", ("[2024-01-01,infinity)", "[0044-03-15 BC,2024-01-01)")),
        Sample("tsrange", ('["2024-01-01 00:00:00","2024-01-02 00:00:00.000001")',)),
        Sample("tstzrange", ('["2024-03-10 07:30:00+00",)',)),
        Sample("int4multirange", ("{}", "{[1,3),[5,7)}"), needs=14),
        Sample("tstzmultirange", ('{["2024-03-10 07:30:00+00","2024-03-10 08:30:00+00")}',), needs=14),
    ),
    "networks and table_schemas": (
        Sample("inet", ("10.0.0.1", "10.0.0.1/8", "::1", "fe80::1/64")),
        Sample("cidr", ("10.0.0.0/8", "::/0")),
        Sample("macaddr", ("08:00:2b:01:02:03",)),
        Sample("macaddr8", ("08:00:2b:01:02:03:04:05",)),
        Sample("point", ("(0.1,-0)", "(NaN,Infinity)", "(1e23,5e-324)")),
        Sample("line", ("{1,-1,0.1}",)),
        Sample("lseg", ("[(0,0),(0.1,1e23)]",)),
        Sample("box", ("(1,1),(0.1,-0)",)),
        Sample("path", ("[(0,0),(1,1)]", "((0,0),(1,1),(2,0.1))")),
        Sample("polygon", ("((0,0),(1,1),(2,0.1))",)),
        Sample("circle", ("<(0.1,0.2),3>",)),
        Sample("pg_lsn", ("0/0", "FFFFFFFF/FFFFFFFF")),
    ),
    "types of the user's own": (
        Sample("public.mood", MOOD),
        Sample("public.mood[]", ('{sad,NULL,"it\'s \\"so\\" so, \\\\"}',), seen_as="text"),
        Sample("public.short", ("", "x", "a,\"b'")),
        Sample("public.shorter", ("", "x")),
        Sample("public.cents", ("0", "-0.01", "9999999999.99"), odd=("NaN",)),
        Sample("public.pair", ("(,,,)", '(1,"a ""b"", \\\\ c",infinity,"{NaN,-0,NULL}")', '(,"",,)')),
        Sample("odd.date", ("(2024-01-01)", '("")', "()")),
        Sample("odd.bytea", ("(\\\\x00)", "()")),
        Sample('odd."{braces} 100%"', ("{}", "%s")),
    ),
}

ARROW = {
    "smallint": "int16",
    "integer": "int32",
    "bigint": "int64",
    "oid": "int64",
    "boolean": "bool",
    "real": "float",
    "double precision": "double",
    "numeric(38,0)": "decimal128(38, 0)",
    "numeric(38,38)": "decimal128(38, 38)",
    "numeric(18,2)": "decimal128(18, 2)",
    "numeric(39,0)": "string",
    "numeric(5,-2)": "string",
    "numeric(2,5)": "string",
    "numeric": "string",
    "money": "decimal128(19, 2)",
    "date": "date32[day]",
    "time without time zone": "time64[us]",
    "time with time zone": "string",
    "timestamp without time zone": "timestamp[us]",
    "timestamp(0) without time zone": "timestamp[us]",
    "timestamp with time zone": "timestamp[us, tz=UTC]",
    "interval": "string",
    "bytea": "binary",
    "text": "string",
    "character(40)": "string",
    "uuid": "string",
    "jsonb": "string",
    "integer[]": "string",
    "public.mood": "string",
    "public.short": "string",
    "public.shorter": "string",
    "public.cents": "decimal128(12, 2)",
    "odd.date": "string",
    "odd.bytea": "string",
}
"""How a column of each type rests in a file whose values Arrow has room for."""
