"""Rows between the driver's Arrow batches and ours, a whole column at once.

Facts that shape this file
 * The driver gives texts and bytes as large_string and large_binary, a tinyint as uint8, a time in nanoseconds.
 * Its bulk copy writes datetimeoffset wrong, and its handling of other temporal types was not proved: they are staged
   as text, which the server reads with a style.
 * SQL Server's floats have neither NaN nor infinity, its days are of the years 1 to 9999, and its times end before
   24:00. It refuses other texts without the column's name, and a compatible server takes some: they are looked at here.
 * A bit takes every number but 0 as 1.
 * nchar is filled up to so many units of UTF-16 and char to so many bytes: where a character takes two of them, there
   are fewer characters than others would have. They are read with as many as its size says, and written without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.databases.sqlserver.dialect import quoted
from tidegate.databases.sqlserver.types import bare
from tidegate.errors import NotNative, ValueProblem
from tidegate.model.columns import Column
from tidegate.rows.hexadecimal import hex_from_bytes

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_IN_UTF16 = ("nvarchar", "nchar", "ntext", "sql_variant")
_FRACTIONS = ("time", "datetime2", "datetime", "datetimeoffset")
_LONGEST_MOMENT = 50
_DAY = r"(000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-\d\d-\d\d"
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,7})?"
_DIGITS = r"-?\d+(\.\d+)?"
_FORMS = {
    "date": _DAY,
    "time": _CLOCK,
    "datetime": f"{_DAY} {_CLOCK}",
    "smalldatetime": f"{_DAY} {_CLOCK}",
    "datetime2": f"{_DAY} {_CLOCK}",
    "datetimeoffset": f"{_DAY} {_CLOCK} [+-]\\d\\d:\\d\\d",
    "decimal": _DIGITS,
    "numeric": _DIGITS,
    "real": rf"{_DIGITS}([eE][+-]?\d+)?",
    "float": rf"{_DIGITS}([eE][+-]?\d+)?",
}
_WITH_DAYS = ("date", "datetime", "smalldatetime", "datetime2", "datetimeoffset")
_MOST_ROWS, _MOST_CHARACTERS = 1000, 1 << 20


def decoded(batch: pa.RecordBatch, columns: Sequence[Column], schema: pa.Schema) -> pa.RecordBatch:
    """Raises NotNative with the column that holds what its type has no room for."""
    arrays = [
        _decoded(array, column, field) for array, column, field in zip(batch.columns, columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def with_replacement(batch: pa.RecordBatch, columns: Sequence[Column]) -> list[int]:
    """Of each column how many texts hold U+FFFD, which may stand for something else."""
    return [
        pc.sum(pc.match_substring(array, REPLACEMENT)).as_py() or 0
        if pa.types.is_string(array.type) and bare(column.type) in _IN_UTF16
        else 0
        for array, column in zip(batch.columns, columns, strict=True)
    ]


def _decoded(array: pa.Array, column: Column, field: pa.Field) -> pa.Array:
    try:
        if pa.types.is_string(field.type):
            return _text(array, column)
        if pa.types.is_timestamp(field.type):
            return array.cast(pa.timestamp("us")).view(pa.int64()).view(field.type)
        return array.cast(field.type)
    except pa.ArrowInvalid:
        raise NotNative(field.name) from None


def _text(array: pa.Array, column: Column) -> pa.Array:
    if pa.types.is_large_binary(array.type) or pa.types.is_binary(array.type):
        digits = hex_from_bytes(array.cast(pa.binary()))
        return pc.binary_join_element_wise(pa.scalar("\\x"), digits, pa.scalar(""))
    texts, wanted = array.cast(pa.string()), column.stands_for or column.holds
    if wanted.family == "char" and wanted.size is not None:
        return pc.utf8_rpad(texts, width=wanted.size, padding=" ")
    if wanted.family == "trimmed" and column.holds.family == "char":
        return pc.utf8_rtrim(texts, " ")
    return _short(texts, column) if bare(column.type) in _FRACTIONS else texts


def _loses_blanks(column: Column) -> bool:
    """Whether blanks at the end are only filling, which is put back when it is read."""
    wanted = column.stands_for
    return column.holds.family == "char" or (wanted is not None and wanted.family == "char")


def _short(texts: pa.Array, column: Column) -> pa.Array:
    """Without zeros at the end of a second's fraction, as others write it."""
    if bare(column.type) != "datetimeoffset":
        return _shortened(texts)
    parts = [pc.utf8_slice_codeunits(texts, 0, -7), pc.utf8_slice_codeunits(texts, -7, _LONGEST_MOMENT)]
    return pc.binary_join_element_wise(_shortened(parts[0]), parts[1], pa.scalar(""))


def _shortened(texts: pa.Array) -> pa.Array:
    short = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    return pc.if_else(pc.match_substring(texts, "."), short, texts)


def stage_types(columns: Sequence[Column], schema: pa.Schema) -> list[str]:
    """The type of each column of the stage, for what comes as these Arrow types."""
    return [_stage_type(column, field.type) for column, field in zip(columns, schema, strict=True)]


def _stage_type(column: Column, kind: pa.DataType) -> str:
    if pa.types.is_temporal(kind) or bare(column.type) in (*_FRACTIONS, "date", "smalldatetime", "uniqueidentifier"):
        return "varchar(50)"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_binary(kind):
        return "varbinary(max)"
    if pa.types.is_boolean(kind):
        return "bit"
    if pa.types.is_integer(kind):
        return {16: "smallint", 32: "int"}.get(kind.bit_width, "bigint")
    if pa.types.is_floating(kind):
        return "real" if kind.bit_width == 32 else "float"
    return "nvarchar(max)"


def staged(batches: Iterator[pa.RecordBatch], columns: Sequence[Column], table: str) -> Iterator[pa.RecordBatch]:
    """Batches as the stage takes them. Raises ValueProblem."""
    names = [f"c{number}" for number in range(len(columns))]
    for batch in batches:
        arrays = [_staged(array, column, table) for array, column in zip(batch.columns, columns, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def literals(batch: pa.RecordBatch) -> Iterator[str]:
    """What stands behind VALUES, in pieces that a server takes as one statement: up to a thousand rows."""
    columns = [list(map(_literal, array.to_pylist())) for array in batch.columns]
    rows = [f"({', '.join(cells)})" for cells in zip(*columns, strict=True)]
    for piece in _pieces(rows):
        yield ", ".join(piece)


def _pieces(rows: list[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    size = 0
    for row in rows:
        if piece and (len(piece) == _MOST_ROWS or size + len(row) > _MOST_CHARACTERS):
            yield piece
            piece, size = [], 0
        piece.append(row)
        size += len(row)
    yield piece


def _literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(int(value))
        case bytes():
            return f"0x{value.hex()}"
        case str():
            return quoted(value)
        case float():
            return f"N'{value!r}'"  # a number's literal would lose the sign of a zero
    return str(value) if isinstance(value, int) else f"{value:f}"


def _staged(array: pa.Array, column: Column, table: str) -> pa.Array:
    kind = array.type
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(array), min_count=0).as_py():
        raise _no_room(table, column, "NaN or infinity")
    if pa.types.is_integer(kind) and bare(column.type) == "bit" and not _are_truths(array):
        raise _no_room(table, column, "a number that is neither 0 nor 1")
    written = _moments(array, column) if pa.types.is_temporal(kind) else array
    if not pa.types.is_string(written.type):
        return written
    if _loses_blanks(column):
        return pc.utf8_rtrim(written, " ")
    return _readable(written, column, table)


def _readable(texts: pa.Array, column: Column, table: str) -> pa.Array:
    """Texts that the server reads as the column's type."""
    kind = bare(column.type)
    if kind == "datetimeoffset":
        texts = pc.replace_substring_regex(texts, r"\+00$", " +00:00")
    form = _FORMS.get(kind)
    if form is not None and not pc.all(pc.match_substring_regex(texts, f"^{form}$"), min_count=0).as_py():
        raise _no_room(table, column, f"it is no {kind}")
    if kind in _WITH_DAYS:
        try:
            pc.utf8_slice_codeunits(texts, 0, 10).cast(pa.date32())
        except pa.ArrowInvalid:
            raise _no_room(table, column, "it is in no calendar") from None
    return texts


def _are_truths(array: pa.Array) -> bool:
    return bool(pc.all(pc.is_in(array, pa.array([0, 1, None], array.type)), min_count=0).as_py())


def _moments(array: pa.Array, column: Column) -> pa.Array:
    if not pa.types.is_timestamp(array.type):
        return array.cast(pa.string())
    texts = array.cast(pa.timestamp("us")).cast(pa.string())
    if bare(column.type) in ("datetime", "smalldatetime"):
        return pc.utf8_slice_codeunits(texts, 0, 23)  # which take no more than three digits of a second
    if bare(column.type) == "datetimeoffset":
        return pc.binary_join_element_wise(texts, pa.scalar(" +00:00"), pa.scalar(""))
    return texts


def _no_room(table: str, column: Column, what: str) -> ValueProblem:
    return ValueProblem(
        f"{table}: column {column.name} has no room in the target for a value that came: {what}.",
        "Nothing was loaded; the target keeps what it had.",
        "Give the target's column a type that takes these values, or read the column as text (`columns:`) into one.",
    )
