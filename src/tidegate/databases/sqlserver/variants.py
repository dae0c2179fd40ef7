"""Values of a sql_variant as texts that start with their type: `decimal(9,2):1.50`.

Facts that shape this file
 * SQL_VARIANT_PROPERTY returns the type of each value, its precision, its size in bytes and its collation.
 * CONVERT without a style loses digits of floats, money and seconds, and turns bytes into characters.
 * The type in a CONVERT cannot be an expression. So we ask for the types in the stage, and each gets a branch of a
   CASE. All branches convert to sql_variant, or the CASE would convert them to one common type.
 * A sql_variant cannot hold (max) types and documents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidegate.databases.sqlserver.types import COLLATION
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Sql, raw, sql

KIND = "sql_variant"
_STYLES = {
    **dict.fromkeys(("float", "real"), 3),
    **dict.fromkeys(("datetime", "smalldatetime", "datetime2", "datetimeoffset", "time"), 121),
    "date": 23,
    **dict.fromkeys(("binary", "varbinary"), 1),
}
_WIDEST = {"binary": "varbinary(8000)", "varbinary": "varbinary(8000)", "real": "float"}
_MONEY, _EVERY_DIGIT = ("money", "smallmoney"), "decimal(19,4)"
_DIGITS, _FRACTION = ("decimal", "numeric"), ("datetime2", "datetimeoffset", "time")
_CHARACTERS = {"varchar": 1, "char": 1, "nvarchar": 2, "nchar": 2}
_PLAIN = ("bit", "tinyint", "smallint", "int", "bigint", "uniqueidentifier")
_TYPE = re.compile(
    r"(?P<name>{names})(?:\(\d+(?:,\d+)?\))?(?: COLLATE \w+)?".format(
        names="|".join((*_PLAIN, *_STYLES, *_MONEY, *_DIGITS, *_CHARACTERS))
    )
)

_UNKNOWN_SIZE = re.compile(
    r"^(n?varchar)\((?:65535|32767)\)$"
)  # a compatible server reports these sizes for varchar(max)-like values


def text_of(value: str) -> str:
    """Return the SQL expression for the text of a value."""
    name = f"CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY({value}, 'BaseType'))"
    texts = {
        **{kind: f"CONVERT({_WIDEST.get(kind, kind)}, {value}), {style}" for kind, style in _STYLES.items()},
        **dict.fromkeys(_MONEY, f"CONVERT({_EVERY_DIGIT}, {value})"),
    }
    written = " ".join(f"WHEN N'{kind}' THEN CONVERT(nvarchar(max), {text})" for kind, text in texts.items())
    text = f"CASE {name} {written} ELSE CONVERT(nvarchar(max), {value}) END"
    return f"{name} + {_details(name, value)} + N':' + {text}"


def _details(name: str, value: str) -> str:
    """Return the SQL expression for the rest of a type after its name: `(9,2)`, `(20) COLLATE ...`."""

    def type_property(name: str) -> str:
        return f"CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY({value}, '{name}'))"

    def characters(width: int) -> str:
        # The length of an empty text can be 0, which no type can have.
        units = f"COALESCE(NULLIF(CONVERT(int, SQL_VARIANT_PROPERTY({value}, 'MaxLength')), 0), {width}) / {width}"
        return f"N'(' + CONVERT(nvarchar(10), {units}) + N') COLLATE ' + {type_property('Collation')}"

    branches = {
        **dict.fromkeys(_DIGITS, f"N'(' + {type_property('Precision')} + N',' + {type_property('Scale')} + N')'"),
        **dict.fromkeys(_FRACTION, f"N'(' + {type_property('Scale')} + N')'"),
        **dict.fromkeys(("binary", "varbinary"), f"N'(' + {type_property('MaxLength')} + N')'"),
        **{kind: characters(width) for kind, width in _CHARACTERS.items()},
    }
    return f"CASE {name} {' '.join(f'WHEN N{kind!r} THEN {then}' for kind, then in branches.items())} ELSE N'' END"


def types_staged(stage: TableName, column: str) -> Sql:
    """Return a query for the types with which the texts in a column of a stage start."""
    return sql(
        "SELECT DISTINCT LEFT({column}, {colon} - 1) FROM {stage} WHERE {column} IS NOT NULL",
        column=Name.of(column),
        colon=_colon(Name.of(column)),
        stage=Name.of(stage),
    )


def _colon(staged: Name) -> Sql:
    """Return the position of the first colon. Binary, since other collations ignore a colon before a combining mark."""
    return sql("CHARINDEX(N':', ({staged} + N':') COLLATE {exact})", staged=staged, exact=raw(COLLATION))


def is_type(text: str) -> bool:
    """Return whether a sql_variant can have this type. Only such a text becomes a part of a statement."""
    return _TYPE.fullmatch(text) is not None


def from_text(staged: Name, types: Sequence[str]) -> Sql:
    """Return the expression that converts texts that start with one of these types back to values."""
    if not types:
        return sql("CONVERT(sql_variant, NULL)")
    branches = {
        f"branch_{number}": sql(" WHEN {type} THEN CONVERT(sql_variant, {value})", type=Literal(kind), value=value)
        for number, kind in enumerate(sorted(types))
        for value in (_value(staged, kind),)
    }
    # One flat CASE: a column may hold hundreds of types, too many for nested ones.
    template = "".join(f"{{{branch}}}" for branch in branches)
    return sql(f"CASE LEFT({{staged}}, {{colon}} - 1){template} END", staged=staged, colon=_colon(staged), **branches)


def _value(staged: Name, declared: str) -> Sql:
    found = _TYPE.fullmatch(declared)
    assert found is not None
    name, (kind, _, collation) = found["name"], declared.partition(" COLLATE ")
    kind = _UNKNOWN_SIZE.sub(lambda size: size[1] + ("(4000)" if size[1] == "nvarchar" else "(8000)"), kind)
    text = sql("SUBSTRING({staged}, {colon} + 1, 20000)", staged=staged, colon=_colon(staged))
    if collation:
        # A varchar gets the code page of the text that it is converted from.
        return sql("CONVERT({kind}, {text} COLLATE {collation})", kind=raw(kind), text=text, collation=raw(collation))
    if name in _STYLES and name not in ("float", "real"):
        return sql("CONVERT({kind}, {text}, {style})", kind=raw(kind), text=text, style=Literal(_STYLES[name]))
    return sql("CONVERT({kind}, {text})", kind=raw(kind), text=text)
