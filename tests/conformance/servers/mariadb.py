"""Available MariaDB and MySQL servers, and for every type the values that are easily lost."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit, urlunsplit

import pymysql

from conformance.servers.postgresql import ALL_BYTES, ENDS, STRINGS, Absent
from kit.mariadb import MariaDb, NoMariaDb
from kit.mysql_witness import opened, quoted

EMBEDDED = "embedded MariaDB"
GIVEN = "TIDEGATE_TEST_MYSQL"
SERVERS = (EMBEDDED, GIVEN)

# A server may have any defaults; ours must not depend on them.
_HOSTILE_DEFAULTS = (
    "--sql-mode=ANSI,PAD_CHAR_TO_FULL_LENGTH,NO_ZERO_IN_DATE,NO_ZERO_DATE,NO_UNSIGNED_SUBTRACTION",
    "--default-time-zone=-03:30",
    "--character-set-server=latin1",
    "--collation-server=latin1_german2_ci",
    "--div-precision-increment=0",
    "--transaction-isolation=READ-UNCOMMITTED",
    "--group-concat-max-len=4",
    "--explicit-defaults-for-timestamp=0",
)
_CREATE = "CREATE DATABASE {} {}"
_DROP = "DROP DATABASE IF EXISTS {}"


@dataclass(frozen=True)
class Server:
    """A running server whose login may create databases."""

    name: str
    url: str

    def ask(self, query: str) -> list[tuple[object, ...]]:
        with opened(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    @property
    def version(self) -> str:
        """Such as `MariaDB 10.11.6`."""
        said = str(self.ask("SELECT VERSION()")[0][0])
        return f"{'MariaDB' if 'MariaDB' in said else 'MySQL'} {said.split('-')[0]}"

    @cached_property
    def abilities(self) -> frozenset[str]:
        """The types that not every version has."""
        found = set()
        for kind in ("uuid", "inet4", "inet6"):
            try:
                self.ask(f"SELECT CAST(NULL AS {kind})")
            except pymysql.Error:
                continue
            found.add(kind)
        return frozenset(found)

    @contextmanager
    def database(self, options: str = "") -> Iterator[str]:
        """The URL of a new database; dropped at the end."""
        name = f"conf_{uuid.uuid4().hex[:12]}"
        self.ask(_CREATE.format(quoted(name), options))
        try:
            yield urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))
        finally:
            self.ask(_DROP.format(quoted(name)))


@contextmanager
def running(name: str) -> Iterator[Server]:
    """Raises Absent."""
    if name == GIVEN:
        url = os.environ.get(GIVEN)
        if not url:
            raise Absent(f"{GIVEN} is not set")
        yield Server(name, url)
        return
    server = MariaDb(*_HOSTILE_DEFAULTS)
    try:
        server.start()
    except NoMariaDb as problem:
        server.close()
        raise Absent(str(problem)) from None
    try:
        yield Server(name, server.url())
    finally:
        server.close()


@dataclass(frozen=True)
class Sample:
    """Values of one type, as text that the server reads or as bytes to be kept as they are.

    `form` is how a witness sees it (`seen.py`). `never` are the values for which PostgreSQL has no room, each with the
    reason. `needs` is a type that not every version has.
    """

    type: str
    values: tuple[str | bytes, ...]
    form: str
    never: tuple[tuple[str | bytes, str], ...] = ()
    needs: str = ""

    def missing_on(self, server: Server) -> str:
        """What the server lacks for it; empty when it has all."""
        return "" if not self.needs or self.needs in server.abilities else self.needs


def _whole(kind: str, *values: int) -> Sample:
    return Sample(kind, tuple(map(str, values)), "number")


def _no_day(*values: str) -> tuple[tuple[str, str], ...]:
    return tuple((value, "PostgreSQL has only days of the calendar") for value in values)


def _no_clock(*values: str) -> tuple[tuple[str, str], ...]:
    return tuple((value, "PostgreSQL's time ends at 24:00") for value in values)


_NO_NULL_BYTE = (("a\0b", "PostgreSQL's text has no U+0000"),)
_BYTES = (b"", b"\0", b"\xff", ALL_BYTES, b"\\.", b"\n\\.\n", b'"', b"NULL", b"trailing \0 ", b"\xf0\x9f")
_SHORT = tuple(value for value in STRINGS if len(value) <= 40)
_FLOATS = (
    "0",
    "0.1",
    "-0.1",
    "1.1754942e-38",
    "3.4028234e38",
    "-3.4028234e38",
    "16777217",
    "1.00000012",
    "1e-37",
    "1e10",
    "123456.789",
    "1e-45",
)
_DOUBLES = (
    "0",
    "0.1",
    "1e23",
    "0.30000000000000004",
    "9007199254740993",
    "123456789.123456789",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
    "2.2250738585072014e-308",
    "2.225073858507201e-308",
    "5e-324",
    "-5e-324",
)
_KEPT_MOMENTS = ("2024-03-10 02:30:00", "2024-11-03 01:30:00", "1000-01-01 00:00:00", "9999-12-31 23:59:59")
_ZERO_MOMENTS = _no_day("0000-00-00 00:00:00", "2024-00-00 00:00:00", "2024-02-31 10:00:00", "0000-12-31 23:59:59")


def _texts(kind: str, *values: str) -> Sample:
    return Sample(kind, values, "text")


FAMILIES: dict[str, tuple[Sample, ...]] = {
    "integers": (
        _whole("tinyint", 0, -128, 127),
        _whole("tinyint(1)", 0, 1, 2, -1, -128, 127),
        _whole("boolean", 0, 1, 2),
        _whole("tinyint unsigned", 0, 255),
        _whole("tinyint(1) unsigned", 0, 1, 255),
        _whole("smallint", 0, -(1 << 15), (1 << 15) - 1),
        _whole("smallint unsigned", 0, (1 << 16) - 1),
        _whole("mediumint", 0, -(1 << 23), (1 << 23) - 1),
        _whole("mediumint unsigned", 0, (1 << 24) - 1),
        _whole("int", 0, -1, -(1 << 31), (1 << 31) - 1),
        _whole("int unsigned", 0, (1 << 32) - 1),
        _whole("int(10) zerofill", 0, 42, (1 << 32) - 1),
        _whole("tinyint(3) unsigned zerofill", 0, 7, 255),
        _whole("bigint", 0, -(1 << 63), (1 << 63) - 1, 9007199254740993),
        _whole("bigint unsigned", 0, (1 << 64) - 1, (1 << 63)),
        _whole("bigint(20) unsigned zerofill", 0, (1 << 64) - 1),
        _whole("year", 1901, 2155, 2024, 0),
    ),
    "decimals": (
        Sample("decimal(1,0)", ("9", "-9", "0"), "number"),
        Sample("decimal(18,2)", ("0.00", "-0.01", "9999999999999999.99"), "number"),
        Sample("decimal(10,2) unsigned", ("0.00", "99999999.99"), "number"),
        Sample("decimal(8,2) zerofill", ("0.00", "1.50", "999999.99"), "number"),
        Sample("decimal(38,0)", ("9" * 38, f"-{'9' * 38}", "0"), "number"),
        Sample("decimal(38,30)", (f"{'9' * 8}.{'9' * 30}", f"-0.{'0' * 29}1"), "number"),
        Sample("decimal(30,30)", (f"0.{'9' * 30}", f"-0.{'0' * 29}1", "0"), "number"),
        Sample("decimal(39,0)", ("9" * 39, f"-{'9' * 39}"), "number"),
        Sample("decimal(65,0)", ("9" * 65, f"-{'9' * 65}"), "number"),
        Sample("decimal(65,30)", (f"{'9' * 35}.{'9' * 30}", f"-{'9' * 35}.{'9' * 30}", "0", "1.5"), "number"),
    ),
    "floats": (
        Sample("float", _FLOATS, "float"),
        Sample("double", _DOUBLES, "float"),
        Sample("float unsigned", ("0", "0.1"), "float"),
        Sample("double(10,3)", ("1.125", "-0.001"), "float"),
        Sample("float(7,4)", ("1.1235",), "float"),
    ),
    "bits": (
        Sample("bit(1)", (b"\0", b"\1"), "bits"),
        Sample("bit(5)", (b"\0", b"\x15", b"\x1f"), "bits"),
        Sample("bit(8)", (b"\0", b"\xff", b"A", b'"', b"\\"), "bits"),
        Sample("bit(9)", (b"\0\0", b"\1\xff"), "bits"),
        Sample("bit(63)", (b"\x7f" + b"\xff" * 7, b"\0"), "bits"),
        Sample("bit(64)", (b"\xff" * 8, b"\0" * 8, b"\x80" + b"\0" * 7, b"\x80" + b"\0" * 6 + b"\1"), "bits"),
    ),
    "strings": (
        Sample("varchar(60) CHARACTER SET utf8mb4", (*STRINGS, *ENDS), "text", never=_NO_NULL_BYTE),
        Sample("text CHARACTER SET utf8mb4", (*STRINGS, *ENDS), "text", never=_NO_NULL_BYTE),
        _texts("char(40) CHARACTER SET utf8mb4", *_SHORT),
        _texts("char(1) CHARACTER SET utf8mb4", "", "x", "🙂", "\n", '"', "\\", "'"),
        _texts("char(255) CHARACTER SET utf8mb4", "", "x" * 255, "🙂" * 255),
        _texts("varchar(1024) CHARACTER SET utf8mb4", "🙂" * 1024, "", "blanks   "),
        _texts("varchar(1025) CHARACTER SET utf8mb4", "🙂" * 1025, "blanks   "),
        _texts("tinytext CHARACTER SET utf8mb4", "", "é" * 127, "🙂", "blanks   "),
        _texts("mediumtext CHARACTER SET utf8mb4", "", "long " * 20_000, "🙂"),
        _texts("longtext CHARACTER SET utf8mb4", "", "long " * 20_000, "🙂"),
        _texts("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "a", "A", "a ", "ä"),
        _texts("varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "a", "A", "a ", "ä"),
    ),
    "no room but for nothing": (
        _texts("varchar(0) CHARACTER SET utf8mb4", ""),
        _texts("char(0) CHARACTER SET utf8mb4", ""),
        Sample("varbinary(0)", (b"",), "bytes"),
        Sample("binary(0)", (b"",), "bytes"),
    ),
    "the longest string": (_texts("varchar(16000) CHARACTER SET utf8mb4", "x" * 16_000, "🙂" * 16_000),),
    "character sets": (
        _texts("varchar(40) CHARACTER SET latin1", "Ærø ÿ", "€", "plain", "\x81", 'it\'s \\ "q"'),
        _texts("text CHARACTER SET latin1", "Ærø ÿ", "€"),
        _texts("char(10) CHARACTER SET latin1", "Ærø ÿ", "€"),
        _texts("varchar(40) CHARACTER SET latin2", "łódź"),
        _texts("varchar(40) CHARACTER SET cp1251", "Привет"),
        _texts("varchar(40) CHARACTER SET koi8r", "Привет"),
        _texts("varchar(40) CHARACTER SET greek", "Αθήνα"),
        _texts("varchar(40) CHARACTER SET hebrew", "שלום"),
        _texts("varchar(40) CHARACTER SET ascii", "plain"),
        _texts("varchar(40) CHARACTER SET utf8mb3", "é 中文"),
        _texts("varchar(40) CHARACTER SET ucs2", "é 中文"),
        _texts("varchar(40) CHARACTER SET utf16", "é 中文 🙂"),
        _texts("varchar(40) CHARACTER SET utf16le", "é 中文 🙂"),
        _texts("varchar(40) CHARACTER SET utf32", "é 中文 🙂"),
        _texts("varchar(40) CHARACTER SET sjis", "表 ソ ミ 能", "\\"),
        _texts("varchar(40) CHARACTER SET cp932", "表 ソ ①"),
        _texts("varchar(40) CHARACTER SET ujis", "表 ソ"),
        _texts("varchar(40) CHARACTER SET gbk", "中文 縗", "\\"),
        _texts("varchar(40) CHARACTER SET gb2312", "中文"),
        _texts("varchar(40) CHARACTER SET big5", "中文 功"),
        _texts("varchar(40) CHARACTER SET euckr", "한국어"),
    ),
    "bytes": (
        Sample("binary(1)", (b"\0", b"\xff", b""), "bytes"),
        Sample("binary(4)", (b"", b"\1", b"ab\0\0", b"\xff" * 4), "bytes"),
        Sample("binary(255)", (ALL_BYTES[:255],), "bytes"),
        Sample("varbinary(300)", _BYTES, "bytes"),
        Sample("varbinary(2000)", (ALL_BYTES * 7,), "bytes"),
        Sample("tinyblob", (b"", ALL_BYTES[:255]), "bytes"),
        Sample("blob", _BYTES, "bytes"),
        Sample("mediumblob", (b"", ALL_BYTES * 300), "bytes"),
        Sample("longblob", (b"", ALL_BYTES * 300), "bytes"),
    ),
    "days and clocks": (
        Sample(
            "date",
            ("1000-01-01", "9999-12-31", "0001-01-01", "1969-12-31", "2000-02-29", "1582-10-10"),
            "date",
            never=_no_day("0000-00-00", "2024-00-00", "2024-01-00", "2024-02-31", "0000-12-31"),
        ),
        Sample(
            "time",
            ("00:00:00", "23:59:59", "12:34:56", "24:00:00"),
            "clock",
            never=_no_clock("-00:00:01", "24:00:01", "-838:59:59", "838:59:59", "100:00:00"),
        ),
        Sample("time(1)", ("00:00:00.1",), "clock", never=_no_clock("-00:00:00.1")),
        Sample("time(3)", ("00:00:00.001", "23:59:59.999"), "clock", never=_no_clock("-00:00:00.001")),
        Sample(
            "time(6)",
            ("00:00:00", "23:59:59.999999", "12:34:56.7", "00:00:00.000001", "24:00:00"),
            "clock",
            never=_no_clock("-00:00:00.000001", "24:00:00.000001", "-838:59:59", "838:59:59", "-12:34:56.7"),
        ),
    ),
    "moments": (
        Sample("datetime", (*_KEPT_MOMENTS, "0001-01-01 00:00:00"), "moment", never=_ZERO_MOMENTS),
        Sample("datetime(1)", (*_KEPT_MOMENTS, "2024-01-31 10:00:00.1"), "moment", never=_ZERO_MOMENTS[:1]),
        Sample("datetime(2)", ("2024-01-31 10:00:00.12",), "moment", never=_ZERO_MOMENTS[:1]),
        Sample("datetime(3)", ("2024-01-31 10:00:00.123", "9999-12-31 23:59:59.999"), "moment"),
        Sample("datetime(4)", ("2024-01-31 10:00:00.1234",), "moment"),
        Sample("datetime(5)", ("2024-01-31 10:00:00.12345",), "moment"),
        Sample(
            "datetime(6)",
            (
                *_KEPT_MOMENTS,
                "9999-12-31 23:59:59.999999",
                "1969-12-31 23:59:59.999999",
                "0001-01-01 00:00:00.000001",
                "2024-01-31 10:00:00.1",
            ),
            "moment",
            never=_ZERO_MOMENTS,
        ),
        # As the witness's session writes them, which is at +05:45.
        Sample(
            "timestamp NULL",
            ("1970-01-01 05:45:01", "2038-01-19 08:59:07", "2024-03-10 13:15:00", "2024-11-03 11:15:00"),
            "instant",
            never=_ZERO_MOMENTS[:1],
        ),
        Sample("timestamp(1) NULL", ("2024-01-31 10:00:00.1",), "instant"),
        Sample("timestamp(3) NULL", ("2024-01-31 10:00:00.123",), "instant", never=_ZERO_MOMENTS[:1]),
        Sample(
            "timestamp(6) NULL",
            ("1970-01-01 05:45:00.000001", "2038-01-19 08:59:07.999999", "2024-01-31 10:00:00.1"),
            "instant",
            never=_ZERO_MOMENTS[:1],
        ),
    ),
    "documents and choices": (
        _texts("json", '{"b": 1,  "a":2, "a" :3}', "null", '"\\u0000 🙂"', "[1e400, 1.50]", ' "\\\\." '),
        _texts("enum('a','B c','it''s','','é','x,y') CHARACTER SET utf8mb4", "a", "B c", "it's", "", "é", "x,y"),
        _texts("set('x','y','B c','é','it''s') CHARACTER SET utf8mb4", "", "x", "x,y", "x,y,B c,é,it's"),
        _texts("enum('x','é') CHARACTER SET latin1", "x", "é"),
    ),
    "choices beyond the first plane": (
        _texts("enum('x','🙂','?') CHARACTER SET utf8mb4", "x", "🙂", "?"),
        _texts("set('x','🙂') CHARACTER SET utf8mb4", "x", "🙂", "x,🙂"),
        _texts("enum('\\','a\\''b','%s {}') CHARACTER SET utf8mb4", "\\", "a\\'b", "%s {}"),
    ),
    "geometry": (
        Sample("point", (b"\0\0\0\0" + b"\1\1\0\0\0" + b"\0" * 16,), "bytes"),
        Sample("geometry", (b"\xe6\x10\0\0" + b"\1\1\0\0\0" + b"\0" * 6 + b"\xf0\x3f" + b"\0" * 7 + b"\x40",), "bytes"),
        Sample(
            "linestring", (b"\0\0\0\0\1\2\0\0\0\2\0\0\0" + b"\0" * 16 + b"\0" * 6 + b"\xf0\x3f" + b"\0" * 8,), "bytes"
        ),
    ),
    "types of MariaDB alone": (
        Sample(
            "uuid",
            (
                "00000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            ),
            "uuid",
            needs="uuid",
        ),
        Sample("inet6", ("::", "::1", "2001:db8::ff00:42:8329", "::ffff:192.0.2.1"), "text", needs="inet6"),
        Sample("inet4", ("0.0.0.0", "255.255.255.255"), "text", needs="inet4"),
    ),
}
