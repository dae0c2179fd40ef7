"""Types of MySQL and MariaDB: the logical type of each, and the type to declare for a column of another database.

Facts that shape this file
 * TIME goes from -838:59:59 to 838:59:59, so it is a `clock`. A column with values beyond a day is stored as text.
 * DATE and DATETIME may hold zeros (0000-00-00, 2024-00-00), which are no days. Such a column is stored as text.
 * TIMESTAMP is an instant from 1970 to 2038, DATETIME has no zone and goes to 9999. So instants of another database
   become a DATETIME in UTC.
 * CHAR returns its values without trailing blanks.
 * MySQL's JSON rewrites its text. A document of another database keeps its text in a LONGTEXT.
 * A row has at most 65,535 bytes, four for each character of a VARCHAR. Long ones are declared LONGTEXT.
 * MariaDB has no JSON type: JSON is an alias of LONGTEXT.
 * tinyint(1) is used for bools, but it also takes a 2.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tidegate.model.columns import Column
from tidegate.model.types import Type
from tidegate.model.values import ValueKind

KIND = "mysql"
LONGEST_VARCHAR = 1024
DIGITS, SCALE, BITS = 65, 30, 64

_INTEGERS = {"tinyint": "int8", "smallint": "int16", "mediumint": "int24", "int": "int32", "bigint": "int64"}
_SECONDS = {"time": "clock", "datetime": "timestamp", "timestamp": "instant"}
_LOGICAL_TYPES = {
    "year": Type("int16"),
    "float": Type("float32"),
    "double": Type("float64"),
    "date": Type("date"),
    "json": Type("json", spelling="json of MySQL"),  # it rewrites its documents
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
_BASE_TYPE = re.compile(r"\w+")

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


def logical_type(
    column_type: str, size: int | None, digits: int | None, scale: int | None, seconds: int | None
) -> Type:
    """Return the logical type of the catalog's `column_type`, length, precision, scale and digits of a second."""
    name = base_type(column_type)
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
        return Type(_LOGICAL_TYPES[name].family, scale=scale or 0, spelling=column_type)  # it rounds to its scale
    return _LOGICAL_TYPES.get(name, Type("local", spelling=column_type))


def base_type(column_type: str) -> str:
    """Return `varchar` for `varchar(20) COLLATE ...`."""
    found = _BASE_TYPE.match(column_type)
    return found[0].lower() if found else ""


def declare(column: Column, collation: str) -> Column:
    """Return the column that takes every value of `column`. Columns of MySQL keep their type if this server has it.

    Texts of another database get the exact collation, so that different texts stay different keys.
    """
    if column.database == KIND and _is_known(column, on_mariadb="nopad" in collation):
        type_ = Type("string", column.logical_type.size) if column.portable_type else column.logical_type
        return replace(column, type=column.declared_type, portable_type="", logical_type=type_).read_like(column)
    declared, found = _declared_type(column.logical_type.portable)
    is_text = base_type(declared) in ("char", "varchar", "longtext")
    declared += f" CHARACTER SET utf8mb4 COLLATE {collation}" if is_text else ""
    target = replace(column, type=declared, portable_type="", logical_type=found, database=KIND)
    return replace(target, collation=collation if is_text else "").read_like(column)


def _is_known(column: Column, *, on_mariadb: bool) -> bool:
    """Return whether this server knows the type and the collation: MySQL and MariaDB each have some of their own."""
    if on_mariadb:
        return "_0900_" not in column.collation and column.logical_type.family != "json"
    foreign = "_nopad_" in column.collation or "uca1400" in column.collation
    return not foreign and base_type(column.type) not in ("uuid", "inet4", "inet6")


def _declared_type(wanted: Type) -> tuple[str, Type]:
    """Return the type in DDL, and the logical type that the catalog will report for it."""
    size = wanted.size
    match wanted.family:
        case "decimal" if size is not None and size <= DIGITS and 0 <= wanted.scale <= min(SCALE, size):
            return f"decimal({size},{wanted.scale})", wanted
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
            return f"bit({size})", wanted
        case "binary" if size is not None and size <= LONGEST_VARCHAR:
            return f"varbinary({size})", wanted
        case "binary":
            return "longblob", Type("binary")
        case "bool":
            return "tinyint(1)", Type("flag")
        case "padded":
            return f"binary({size})", wanted
    if wanted.family in _DECLARED:
        return _DECLARED[wanted.family], wanted
    return "longtext", Type("string")


def value_kind(column: Column) -> ValueKind | None:
    """Return None for types whose text does not sort as their values do."""
    match column.logical_type.family:
        case "decimal":
            return ValueKind.DECIMAL
        case "date":
            return ValueKind.DATE
        case "timestamp" | "instant":
            return ValueKind.TIMESTAMP
        case "string" | "trimmed" | "enum" | "uuid":
            return ValueKind.TEXT
    return ValueKind.INTEGER if column.logical_type.is_integer else None
