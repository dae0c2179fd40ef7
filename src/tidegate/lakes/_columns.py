"""Columns of a table in a table format: which field a column of a file belongs to, and which fields the table lacks.

Types are spelled as Iceberg spells them, for every format.

Facts that shape this file
 * Readers of Iceberg find columns by field ids, which the table gives: Spark reads a file without ids by position, and
   DuckDB reads nulls.
 * A file may be narrower than its table: `int` in `long`, `decimal(10, 2)` in `decimal(12, 2)`.
 * A decimal never changes its scale: pyiceberg allows it, and Spark then reads values a hundred times too small.
 * A text that stands beside a column (`amount__text`) is used where one window had to be read as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.errors import LakeError
from tidegate.lakes._resting import resting_field, resting_type

if TYPE_CHECKING:
    import pyarrow as pa

_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_WIDER = {("int", "long"), ("float", "double")}


@dataclass(frozen=True)
class Field:
    """One field of a table: its type, and its id where the format has ids."""

    type: str
    id: int | None = None


@dataclass(frozen=True)
class Fitted:
    """Where the columns of a file go: the name of a field for each, and what the table needs first."""

    names: tuple[str, ...]
    added: Mapping[str, str]
    """Fields that the table lacks, each with its type."""
    widened: Mapping[str, str]

    @property
    def fits(self) -> bool:
        return not self.added and not self.widened


def spelled(kind: pa.DataType) -> str:
    """Return an Arrow type as Iceberg spells it."""
    import pyarrow.types as types

    if types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    return _SPELLED[str(kind)]


_SPELLED = {
    "bool": "boolean",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
    "date32[day]": "date",
    "string": "string",
    "large_string": "string",
    "binary": "binary",
    "large_binary": "binary",
}


def fit(
    table: str, fields: Mapping[str, Field], schema: pa.Schema, *, widens: bool = True, unwanted: str = ""
) -> Fitted:
    """Return where the columns of this schema go. Raises LakeError for a change of type that the format does not have.

    `widens` says whether fields may grow, `unwanted` which characters no name of a field may have."""
    plain = plain_names(schema.names, unwanted)
    taken = set(plain)
    names: list[str] = []
    added: dict[str, str] = {}
    widened: dict[str, str] = {}
    for column, name in zip(schema, plain, strict=True):
        kind = spelled(resting_type(column))
        held = fields.get(name)
        if held is not None and kind == "string" and held.type != "string":
            name = _beside(name, fields, taken)
            held = fields.get(name)
        if held is None:
            added[name] = kind
        elif not _holds(held.type, kind):
            if not widens or not _holds(kind, held.type):
                raise _other_type(table, name, held.type, kind)
            widened[name] = kind
        names.append(name)
    return Fitted(tuple(names), added, widened)


def plain_names(names: Sequence[str], unwanted: str) -> list[str]:
    """Return names without these characters, all of them different."""
    found: list[str] = []
    for name in names:
        plain = "".join("_" if sign in unwanted else sign for sign in name)
        while plain in found or (plain != name and plain in names):
            plain += "_"
        found.append(plain)
    return found


def _beside(name: str, fields: Mapping[str, Field], taken: set[str]) -> str:
    """Return the name of the field that holds the texts of a column whose values do not fit its type."""
    number = 1
    while True:
        beside = f"{name}__text{number if number > 1 else ''}"
        if beside not in taken and fields.get(beside, Field("string")).type == "string":
            return beside
        number += 1


def _holds(wide: str, narrow: str) -> bool:
    if wide == narrow or (narrow, wide) in _WIDER:
        return True
    one, other = _DECIMAL.fullmatch(wide), _DECIMAL.fullmatch(narrow)
    return bool(one and other and one[2] == other[2] and int(one[1]) >= int(other[1]))


def _other_type(table: str, name: str, before: str, now: str) -> LakeError:
    return LakeError(
        f"{table}: the column {name} was {before} and is {now} now. The format has no such change of type.",
        "Nothing was committed; table and target keep what they had.",
        "Move the table away, or name another `path` of the lake: then everything is extracted anew.",
    )


def with_ids(schema: pa.Schema, names: Sequence[str], fields: Mapping[str, Field]) -> pa.Schema:
    """Return the schema of a file whose columns go into these fields."""
    import pyarrow as pa

    return pa.schema([resting_field(column, name, fields[name].id) for column, name in zip(schema, names, strict=True)])


_OF_SPARK = {"long": "BIGINT", "timestamptz": "TIMESTAMP", "timestamp": "TIMESTAMP_NTZ"}


def spark_columns(fields: Mapping[str, Field]) -> str:
    """Return these fields as Spark spells columns."""
    quoted = {name.replace("`", "``"): field.type for name, field in fields.items()}
    return ", ".join(f"`{name}` {_OF_SPARK.get(kind, kind.upper())}" for name, kind in quoted.items())
