"""Values of a sql_variant: each says its own type, and so does its text, `decimal(9,2):1.50`.

Facts that shape this file
 * SQL_VARIANT_PROPERTY tells the type of each value, its digits, its size in bytes and its collation. A null has none.
 * What CONVERT writes without a style loses digits of floats, of money and of seconds, and bytes become characters.
 * A type cannot be computed: the types that came are asked for, and each gets a branch of its own. The branches of a
   CASE become one type, which is sql_variant only where all of them are.
 * Neither (max) types nor documents can be in one.
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

_SIZE_UNTOLD = re.compile(r"^(n?varchar)\((?:65535|32767)\)$")  # as a compatible server has it


def text_of(value: str) -> str:
    """The text of a value, as an expression."""
    name = f"CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY({value}, 'BaseType'))"
    texts = {
        **{kind: f"CONVERT({_WIDEST.get(kind, kind)}, {value}), {style}" for kind, style in _STYLES.items()},
        **dict.fromkeys(_MONEY, f"CONVERT({_EVERY_DIGIT}, {value})"),
    }
    written = " ".join(f"WHEN N'{kind}' THEN CONVERT(nvarchar(max), {text})" for kind, text in texts.items())
    text = f"CASE {name} {written} ELSE CONVERT(nvarchar(max), {value}) END"
    return f"{name} + {_details(name, value)} + N':' + {text}"


def _details(name: str, value: str) -> str:
    """What stands behind the name of a type: `(9,2)`, `(20) COLLATE ...`."""

    def told(what: str) -> str:
        return f"CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY({value}, '{what}'))"

    def characters(width: int) -> str:
        # An empty text may say 0, which no type takes.
        units = f"COALESCE(NULLIF(CONVERT(int, SQL_VARIANT_PROPERTY({value}, 'MaxLength')), 0), {width}) / {width}"
        return f"N'(' + CONVERT(nvarchar(10), {units}) + N') COLLATE ' + {told('Collation')}"

    branches = {
        **dict.fromkeys(_DIGITS, f"N'(' + {told('Precision')} + N',' + {told('Scale')} + N')'"),
        **dict.fromkeys(_FRACTION, f"N'(' + {told('Scale')} + N')'"),
        **dict.fromkeys(("binary", "varbinary"), f"N'(' + {told('MaxLength')} + N')'"),
        **{kind: characters(width) for kind, width in _CHARACTERS.items()},
    }
    return f"CASE {name} {' '.join(f'WHEN N{kind!r} THEN {then}' for kind, then in branches.items())} ELSE N'' END"


def types_staged(stage: TableName, column: str) -> Sql:
    """The types that the texts in a column of a stage begin with."""
    return sql(
        "SELECT DISTINCT LEFT({column}, {colon} - 1) FROM {stage} WHERE {column} IS NOT NULL",
        column=Name.of(column),
        colon=_colon(Name.of(column)),
        stage=Name.of(stage),
    )


def _colon(staged: Name) -> Sql:
    """Where it stands. Other collations do not see one that a mark combines with."""
    return sql("CHARINDEX(N':', ({staged} + N':') COLLATE {exact})", staged=staged, exact=raw(COLLATION))


def is_type(text: str) -> bool:
    """Whether this is a type that a value can have; only such a text becomes a part of a statement."""
    return _TYPE.fullmatch(text) is not None


def from_text(staged: Name, types: Sequence[str]) -> Sql:
    """The values again, of texts that begin with one of these types."""
    if not types:
        return sql("CONVERT(sql_variant, NULL)")
    branches = {
        f"branch_{place}": sql(" WHEN {type} THEN CONVERT(sql_variant, {value})", type=Literal(kind), value=value)
        for place, kind in enumerate(sorted(types))
        for value in (_value(staged, kind),)
    }
    # Side by side, not one inside of the other: a column may hold hundreds of types.
    template = "".join(f"{{{branch}}}" for branch in branches)
    return sql(f"CASE LEFT({{staged}}, {{colon}} - 1){template} END", staged=staged, colon=_colon(staged), **branches)


def _value(staged: Name, declared: str) -> Sql:
    found = _TYPE.fullmatch(declared)
    assert found is not None
    name, (kind, _, collation) = found["name"], declared.partition(" COLLATE ")
    kind = _SIZE_UNTOLD.sub(lambda size: size[1] + ("(4000)" if size[1] == "nvarchar" else "(8000)"), kind)
    text = sql("SUBSTRING({staged}, {colon} + 1, 20000)", staged=staged, colon=_colon(staged))
    if collation:
        # The code page of a varchar is that of the text which it is made of.
        return sql("CONVERT({kind}, {text} COLLATE {collation})", kind=raw(kind), text=text, collation=raw(collation))
    if name in _STYLES and name not in ("float", "real"):
        return sql("CONVERT({kind}, {text}, {style})", kind=raw(kind), text=text, style=Literal(_STYLES[name]))
    return sql("CONVERT({kind}, {text})", kind=raw(kind), text=text)
