"""The types of MySQL and MariaDB: what each holds, and how a column for another database's values is declared.

Facts that shape this file
 * TIME reaches from -838:59:59 to 838:59:59, so it is a `clock`: what is no time of day rests as text.
 * DATE and DATETIME may hold zeros (0000-00-00, 2024-00-00), which are no days: such a column rests as text.
 * TIMESTAMP is a point in time from 1970 to 2038, DATETIME has no zone and reaches to 9999. So the instants of
   another database rest in a DATETIME, as UTC.
 * CHAR gives its values back without blanks at their end.
 * MySQL's own JSON rewrites its text; a document of another database keeps its text in a LONGTEXT.
 * A table's row has room for 65,535 bytes, four for each character of a VARCHAR: long ones are declared LONGTEXT.
 * MariaDB has no JSON of its own, but calls a LONGTEXT so.
 * tinyint(1) is how booleans are written, but nothing keeps a 2 out of it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tidegate.model.columns import Column
from tidegate.model.types import Type
from tidegate.model.values import Kind

KIND = "mysql"
LONGEST_VARCHAR = 1024
DIGITS, SCALE, BITS = 65, 30, 64

_INTEGERS = {"tinyint": "int8", "smallint": "int16", "mediumint": "int24", "int": "int32", "bigint": "int64"}
_SECONDS = {"time": "clock", "datetime": "timestamp", "timestamp": "instant"}
_HOLDS = {
    "year": Type("int16"),
    "float": Type("float32"),
    "double": Type("float64"),
    "date": Type("date"),
    "json": Type("json", spelling="json of MySQL"),  # which writes its documents anew
    "uuid": Type("uuid"),
    "longtext": Type("string"),
    "longblob": Type("binary"),
}
_TEXTS = {"varchar": "string", "char": "trimmed", "enum": "enum", "set": "enum"}
_LONG_TEXTS = ("tinytext", "text", "mediumtext")
_BYTES = ("varbinary", "tinyblob", "blob", "mediumblob", "vector")
_GEOMETRIES = (
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
    "geomcollection",
)
_BARE = re.compile(r"\w+")

_DECLARED = {
    "int8": "tinyint",
    "flag": "tinyint(1)",
    "bool": "tinyint(1)",
    "uint8": "tinyint unsigned",
    "int16": "smallint",
    "uint16": "smallint unsigned",
    "int24": "mediumint",
    "uint24": "mediumint unsigned",
    "int32": "int",
    "uint32": "int unsigned",
    "int64": "bigint",
    "uint64": "bigint unsigned",
    "float32": "float",
    "float64": "double",
    "date": "date",
    "geometry": "geometry",
}


def holds(column_type: str, size: int | None, digits: int | None, scale: int | None, seconds: int | None) -> Type:
    """`column_type` as the catalog spells it, then what the catalog says of length, precision and fractions."""
    name = bare(column_type)
    if name in _INTEGERS:
        if "unsigned" in column_type or "zerofill" in column_type:
            return Type("u" + _INTEGERS[name])
        return Type("flag") if column_type == "tinyint(1)" else Type(_INTEGERS[name])
    if name == "decimal":
        return Type("decimal", digits, scale or 0)
    if name in _SECONDS:
        return Type(_SECONDS[name], seconds or 0)
    if name == "bit":
        return Type("bits", digits)
    if name in _TEXTS:
        return Type(_TEXTS[name], size, spelling=column_type if name in ("enum", "set") else "")
    if name in _LONG_TEXTS:
        return Type("string", size)
    if name in _BYTES:
        return Type("binary", size)
    if name == "binary":
        return Type("padded", size)
    if name in _GEOMETRIES:
        return Type("geometry")
    if name in ("float", "double") and "(" in column_type:
        return Type(_HOLDS[name].family, scale=scale or 0, spelling=column_type)  # which rounds to its scale
    return _HOLDS.get(name, Type("local", spelling=column_type))


def bare(column_type: str) -> str:
    """`varchar(20) COLLATE ...` is a varchar."""
    found = _BARE.match(column_type)
    return found[0].lower() if found else ""


def declare(column: Column, collation: str) -> Column:
    """The column that takes every value of `column`; those of its own kind keep their type, where this server has it.

    Text of another database gets a collation that tells all texts apart: there they were told apart too.
    """
    if column.database == KIND and _is_known(column, on_mariadb="nopad" in collation):
        held = Type("string", column.holds.size) if column.in_target else column.holds
        return replace(column, type=column.declared, in_target="", holds=held).reading(column)
    spelled, found = _spelled(column.holds.plain)
    is_text = bare(spelled) in ("char", "varchar", "longtext")
    spelled += f" CHARACTER SET utf8mb4 COLLATE {collation}" if is_text else ""
    made = replace(column, type=spelled, in_target="", holds=found, database=KIND)
    return replace(made, collation=collation if is_text else "").reading(column)


def _is_known(column: Column, *, on_mariadb: bool) -> bool:
    """MySQL and MariaDB are of one kind, but neither knows all types and collations of the other."""
    if on_mariadb:
        return "_0900_" not in column.collation and column.holds.family != "json"
    foreign = "_nopad_" in column.collation or "uca1400" in column.collation
    return not foreign and bare(column.type) not in ("uuid", "inet4", "inet6")


def _spelled(wished: Type) -> tuple[str, Type]:
    """The type, and what the catalog will say that it holds."""
    size = wished.size
    match wished.family:
        case "decimal" if size is not None and size <= DIGITS and 0 <= wished.scale <= min(SCALE, size):
            return f"decimal({size},{wished.scale})", wished
        case "time" | "clock" if size is not None and size <= 6:
            return f"time({size})", Type("clock", size)
        case "timestamp" | "instant" if size is not None and size <= 6:
            return f"datetime({size})", Type("timestamp", size)
        case "char" | "trimmed" if size is not None and size <= 255:
            return f"char({size})", Type("trimmed", size)
        case "uuid":
            return "char(36)", Type("trimmed", 36)
        case "string" | "char" | "trimmed" | "enum" if size is not None and size <= LONGEST_VARCHAR:
            return f"varchar({size})", Type("string", size)
        case "bits" if size is not None and size <= BITS:
            return f"bit({size})", wished
        case "binary" if size is not None and size <= LONGEST_VARCHAR:
            return f"varbinary({size})", wished
        case "binary":
            return "longblob", Type("binary")
        case "bool":
            return "tinyint(1)", Type("flag")
        case "padded":
            return f"binary({size})", wished
    if wished.family in _DECLARED:
        return _DECLARED[wished.family], wished
    return "longtext", Type("string")


def partition_kind(column: Column) -> Kind | None:
    """None for types whose text does not sort as their values do."""
    match column.holds.family:
        case "decimal":
            return Kind.DECIMAL
        case "date":
            return Kind.DATE
        case "timestamp" | "instant":
            return Kind.TIMESTAMP
        case "string" | "trimmed" | "enum" | "uuid":
            return Kind.TEXT
    return Kind.INTEGER if column.holds.is_integer else None
