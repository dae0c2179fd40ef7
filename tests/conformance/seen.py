"""Values in a form that does not depend on the server, so that two drivers' results can be compared.

| form    | a value is                                                        |
| ------- | ----------------------------------------------------------------- |
| number  | its decimal digits, with as many behind the point as are stored   |
| float   | the bits of a double                                              |
| text    | its characters                                                    |
| bytes   | its bytes                                                         |
| bits    | the number that they write                                        |
| date    | year, month and day                                               |
| clock   | hours, minutes, seconds and the digits that are not 0             |
| moment  | a date and a clock                                                |
| instant | a moment of UTC                                                   |
| zoned   | a moment and the offset that it was written with                  |
| filled  | its characters, without the blanks that fill it up                |
| uuid    | its characters, in small letters                                  |
| native  | what only PostgreSQL understands: its own binary form of the value|

Plain drivers read all of them, without the code under test.
"""

from __future__ import annotations

import re
import struct
from typing import Any

from psycopg import sql

from kit.mysql_witness import MysqlWitness, quoted
from kit.sqlserver_witness import SqlServerWitness
from kit.sqlserver_witness import quoted as in_brackets
from kit.witness import Witness

Seen = object
_MOMENT = "YYYY-MM-DD HH24:MI:SS.US"

_ON_POSTGRESQL = {
    "number": "CAST({} AS text)",
    "truth": "CAST(CAST({} AS integer) AS text)",
    "money": "CAST(CAST({} AS numeric) AS text)",
    "float": "CAST({} AS double precision)",
    "text": "CAST({} AS text)",
    "uuid": "CAST({} AS text)",
    "filled": "CAST({} AS text)",
    "zoned": "CAST({} AS text)",
    "bytes": "{}",
    "bits": "CAST({} AS text)",
    "date": "CAST({} AS text)",
    "clock": "to_char({}, 'HH24:MI:SS.US')",
    "moment": f"to_char({{}}, '{_MOMENT}')",
    "instant": f"to_char({{}} AT TIME ZONE 'UTC', '{_MOMENT}')",
}
_ON_MYSQL = {
    "number": "CAST({} AS CHAR)",
    "truth": "CAST({} AS CHAR)",
    "money": "CAST({} AS CHAR)",
    "float": "{} * 1e0",
    "text": "CONVERT({} USING utf8mb4)",
    "uuid": "CONVERT({} USING utf8mb4)",
    "filled": "CONVERT({} USING utf8mb4)",
    "zoned": "CONVERT({} USING utf8mb4)",
    "native": "CONVERT({} USING utf8mb4)",
    "bytes": "CAST({} AS BINARY)",
    "bits": "CAST({} AS BINARY)",
    "date": "CAST({} AS CHAR)",
    "clock": "TIME_FORMAT({}, '%H:%i:%s.%f')",
    "moment": "DATE_FORMAT({}, '%Y-%m-%d %H:%i:%s.%f')",
    "instant": "DATE_FORMAT({}, '%Y-%m-%d %H:%i:%s.%f')",
}
_ON_SQLSERVER = {
    "number": "CONVERT(nvarchar(4000), {})",
    "truth": "CONVERT(nvarchar(5), CONVERT(int, {}))",
    "money": "CONVERT(nvarchar(60), CONVERT(decimal(38,4), {}))",
    "float": "CONVERT(float, {})",
    "text": "CONVERT(nvarchar(max), {})",
    "native": "CONVERT(nvarchar(max), {})",
    "uuid": "CONVERT(nvarchar(36), {})",
    "filled": "CONVERT(nvarchar(max), {})",
    "bytes": "CONVERT(varbinary(max), {})",
    "bits": "CONVERT(nvarchar(max), {})",
    "date": "CONVERT(nvarchar(10), {}, 23)",
    "clock": "CONVERT(nvarchar(20), {}, 121)",
    "moment": "CONVERT(nvarchar(30), {}, 121)",
    "instant": "CONVERT(nvarchar(30), CONVERT(datetime2(7), SWITCHOFFSET({}, '+00:00')), 121)",
    "zoned": "CONVERT(nvarchar(40), {}, 121)",
}
_ROWS = "SELECT {}, {} FROM {}"
_TIMES = ("clock", "moment", "instant", "zoned")


def on_postgresql(
    witness: Witness, table: sql.Composable, column: str, form: str, key: str = "id"
) -> dict[object, Seen]:
    """Every value of the column by its row's key."""
    expression = sql.SQL(_ON_POSTGRESQL[form]).format(sql.Identifier(column))
    statement = sql.SQL(_ROWS).format(sql.Identifier(key), expression, table)
    return {row[0]: _seen(form, row[1]) for row in witness.ask(statement)}


def on_mysql(
    witness: MysqlWitness, table: str, column: str, form: str, *, zone: bool, key: str = "id"
) -> dict[object, Seen]:
    """`zone`: a TIMESTAMP, which a session shows in its own zone; else an instant is a DATETIME of UTC."""
    statement = _ROWS.format(quoted(key), _ON_MYSQL[form].format(quoted(column)), quoted(table))
    if form == "instant" and zone:
        witness.do("SET SESSION time_zone = '+00:00'")
        rows = witness.ask(statement)
        witness.do("SET SESSION time_zone = '+05:45'")
    else:
        rows = witness.ask(statement)
    return {row[0]: _seen(form, row[1]) for row in rows}


def on_sqlserver(witness: SqlServerWitness, table: str, column: str, form: str, key: str = "id") -> dict[object, Seen]:
    name = in_brackets(column)
    rows = witness.ask(_ROWS.format(in_brackets(key), _ON_SQLSERVER[form].format(name), in_brackets(table)))
    return {row[0]: _seen(form, row[1]) for row in rows}


def in_text(form: str) -> str:
    """How to look at a column that took values of this form as text."""
    return "zoned" if form in _TIMES else form


def _seen(form: str, value: Any) -> Seen:
    if value is None:
        return None
    if form in _TIMES:
        return _short(value.decode() if isinstance(value, bytes) else str(value))
    if form == "filled":
        return (value.decode() if isinstance(value, bytes) else str(value)).rstrip(" ")
    if form == "uuid":
        return str(value).lower()
    match form:
        case "float":
            return struct.pack(">d", value)
        case "bits":
            return int.from_bytes(value, "big") if isinstance(value, bytes) else int(value, 2)
        case "number" | "truth" | "money":
            return _digits(str(value))
        case "bytes":
            return bytes(value)
    return value.decode() if isinstance(value, bytes) else str(value)


def _short(moment: str) -> str:
    """Without zeros at the end of a second's fraction."""
    found = re.fullmatch(r"([^.]*)(\.\d+)?(.*)", moment)
    assert found is not None
    return found[1] + (found[2] or "").rstrip("0").rstrip(".") + found[3]


def _digits(written: str) -> str:
    """Without the zeros that ZEROFILL shows in front."""
    sign, digits = ("-", written[1:]) if written.startswith("-") else ("", written)
    whole, _, fraction = digits.partition(".")
    return sign + (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def meaning(witness: Witness, kind: str, texts: dict[object, Seen]) -> dict[object, Seen]:
    """What PostgreSQL understands when it reads these texts as values of this type: their binary form."""
    found: dict[object, Seen] = {}
    for key, text in texts.items():
        hole = sql.SQL("SELECT CAST({} AS {}) AS x").format(sql.Literal(text), sql.SQL(kind))
        ((found[key],),) = witness.bits(sql.SQL("({}) AS made").format(hole), ["x"])
    return found


def own_meaning(witness: Witness, table: sql.Composable, column: str, key: str = "id") -> dict[object, Seen]:
    """The binary form of every value of a column."""
    rows = witness.bits(table, [key, column])
    return {int.from_bytes(number or b"", "big"): cell for number, cell in rows}
