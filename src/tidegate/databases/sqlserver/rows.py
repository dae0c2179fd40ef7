"""Conversion between the driver's Arrow batches and Tidegate's, a column at a time.

Facts that shape this file
 * The driver returns texts and bytes as large_string and large_binary, a tinyint as uint8, a time in nanoseconds.
 * Its bulk copy writes datetimeoffset wrong, and other temporal types were not proved. So they are staged as text,
   which the server reads with a style.
 * Floats have neither NaN nor infinity, dates go from the year 1 to 9999, and times end before 24:00. The server
   refuses other texts without the column's name, and a compatible server takes some. So they are checked here.
 * A bit stores every number but 0 as 1.
 * nchar pads to a number of UTF-16 units, char to a number of bytes. A character that takes two of them leaves fewer
   characters than in other databases. So texts are padded to the size when read, and written without padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.databases.sqlserver.dialect import quoted
from tidegate.databases.sqlserver.types import CHARACTERS, NCHARS, base_type
from tidegate.errors import NotNative, ValueProblem
from tidegate.hashing.hexadecimal import hex_from_bytes
from tidegate.model.columns import Column
from tidegate.model.names import pluralize

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_IN_UTF16 = ("nvarchar", "nchar", "ntext", "sql_variant")
_FRACTIONS = ("time", "datetime2", "datetime", "datetimeoffset")
_LONGEST_TIMESTAMP = 50
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
    """Return the driver's batch in our schema. Raises NotNative with the column if a value does not fit."""
    arrays = [
        _decoded(array, column, field) for array, column, field in zip(batch.columns, columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def with_replacement(batch: pa.RecordBatch, columns: Sequence[Column]) -> list[int]:
    """Return for each column how many texts hold U+FFFD, which may replace half of a character."""
    return [
        pc.sum(pc.match_substring(array, REPLACEMENT)).as_py() or 0
        if pa.types.is_string(array.type) and base_type(column.type) in _IN_UTF16
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
    texts, wanted = array.cast(pa.string()), column.read_as or column.logical_type
    if wanted.family == "char" and wanted.size is not None:
        return pc.utf8_rpad(texts, width=wanted.size, padding=" ")
    if wanted.family == "trimmed" and column.logical_type.family == "char":
        return pc.utf8_rtrim(texts, " ")
    return _normalised(texts, column) if base_type(column.type) in _FRACTIONS else texts


def _is_padded(column: Column) -> bool:
    """Return whether trailing blanks are only padding, which reading adds again."""
    wanted = column.read_as
    return column.logical_type.family == "char" or (wanted is not None and wanted.family == "char")


def _normalised(texts: pa.Array, column: Column) -> pa.Array:
    """Return times without trailing zeros in the fraction of a second, as the other databases write them."""
    if base_type(column.type) != "datetimeoffset":
        return _without_zeros(texts)
    parts = [pc.utf8_slice_codeunits(texts, 0, -7), pc.utf8_slice_codeunits(texts, -7, _LONGEST_TIMESTAMP)]
    return pc.binary_join_element_wise(_without_zeros(parts[0]), parts[1], pa.scalar(""))


def _without_zeros(texts: pa.Array) -> pa.Array:
    short = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    return pc.if_else(pc.match_substring(texts, "."), short, texts)


def stage_types(columns: Sequence[Column], schema: pa.Schema) -> list[str]:
    """Return the type of each column of the staging table for values of these Arrow types."""
    return [_stage_type(column, field.type) for column, field in zip(columns, schema, strict=True)]


def _stage_type(column: Column, kind: pa.DataType) -> str:
    if pa.types.is_temporal(kind) or base_type(column.type) in (
        *_FRACTIONS,
        "date",
        "smalldatetime",
        "uniqueidentifier",
    ):
        return "varchar(50)"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_binary(kind):
        size = _longest_staged(column)
        return f"varbinary({size})" if size else "varbinary(max)"
    if pa.types.is_boolean(kind):
        return "bit"
    if pa.types.is_integer(kind):
        return {16: "smallint", 32: "int"}.get(kind.bit_width, "bigint")
    if pa.types.is_floating(kind):
        return "real" if kind.bit_width == 32 else "float"
    size = _longest_staged(column)
    return f"nvarchar({size})" if size else "nvarchar(max)"


def _longest_staged(column: Column) -> int:
    """Return the length of a column of texts or bytes in the stage; 0 for any length.

    Sorts and joins over the stage ask for memory by these lengths, as if every value had half of it: (max) counts as
    4,000 bytes. A varchar of n bytes has at most n UTF-16 units."""
    kind, size = base_type(column.type), column.logical_type.size or 0
    if kind in ("varbinary", "binary"):
        return size
    return size if kind in CHARACTERS and size <= NCHARS else 0


def staged(batches: Iterator[pa.RecordBatch], columns: Sequence[Column], table: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches as the staging table takes them. Raises ValueProblem."""
    names = [f"c{number}" for number in range(len(columns))]
    for batch in batches:
        arrays = [_staged(array, column, table) for array, column in zip(batch.columns, columns, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def literals(batch: pa.RecordBatch) -> Iterator[str]:
    """Yield the text after VALUES, in pieces of at most 1,000 rows, which the server takes as one statement."""
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
            return f"N'{value!r}'"  # a numeric literal would lose the sign of -0
    return str(value) if isinstance(value, int) else f"{value:f}"


def _staged(array: pa.Array, column: Column, table: str) -> pa.Array:
    kind = array.type
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(array), min_count=0).as_py():
        raise _value_problem(table, column, "NaN or infinity")
    if pa.types.is_integer(kind) and base_type(column.type) == "bit" and not _are_bits(array):
        raise _value_problem(table, column, "a number that is neither 0 nor 1")
    written = _temporal_texts(array, column) if pa.types.is_temporal(kind) else array
    if not pa.types.is_string(written.type):
        _require_length(written, column, table)
        return written
    ready = pc.utf8_rtrim(written, " ") if _is_padded(column) else _readable(written, column, table)
    _require_length(ready, column, table)
    return ready


def _require_length(array: pa.Array, column: Column, table: str) -> None:
    """Raise ValueProblem for a text or bytes that the stage cannot hold: the bulk copy would not name the column."""
    size = _longest_staged(column)
    if not size or not (pa.types.is_string(array.type) or pa.types.is_binary(array.type)):
        return
    if (pc.max(pc.binary_length(array)).as_py() or 0) <= size:
        return
    is_text = pa.types.is_string(array.type)
    longest = pc.max(_utf16_units(array)).as_py() if is_text else pc.max(pc.binary_length(array)).as_py()
    if longest > size:
        unit = "character" if is_text else "byte"
        raise _value_problem(table, column, f"it is longer than {pluralize(size, unit)}")


def _utf16_units(texts: pa.Array) -> pa.Array:
    """Return the lengths as nvarchar counts them: two for a character beyond U+FFFF."""
    beyond = pc.count_substring_regex(texts, r"[\x{10000}-\x{10FFFF}]")
    return pc.add(pc.utf8_length(texts), beyond)


def _readable(texts: pa.Array, column: Column, table: str) -> pa.Array:
    """Return texts that the server reads as the column's type. Raises ValueProblem for others."""
    kind = base_type(column.type)
    if kind == "datetimeoffset":
        texts = pc.replace_substring_regex(texts, r"\+00$", " +00:00")
    form = _FORMS.get(kind)
    if form is not None and not pc.all(pc.match_substring_regex(texts, f"^{form}$"), min_count=0).as_py():
        raise _value_problem(table, column, f"it is not a {kind}")
    if kind in _WITH_DAYS:
        try:
            pc.utf8_slice_codeunits(texts, 0, 10).cast(pa.date32())
        except pa.ArrowInvalid:
            raise _value_problem(table, column, "the day does not exist") from None
    return texts


def _are_bits(array: pa.Array) -> bool:
    return bool(pc.all(pc.is_in(array, pa.array([0, 1, None], array.type)), min_count=0).as_py())


def _temporal_texts(array: pa.Array, column: Column) -> pa.Array:
    if not pa.types.is_timestamp(array.type):
        return array.cast(pa.string())
    texts = array.cast(pa.timestamp("us")).cast(pa.string())
    if base_type(column.type) in ("datetime", "smalldatetime"):
        return pc.utf8_slice_codeunits(texts, 0, 23)  # these types take at most three digits of a second
    if base_type(column.type) == "datetimeoffset":
        return pc.binary_join_element_wise(texts, pa.scalar(" +00:00"), pa.scalar(""))
    return texts


def _value_problem(table: str, column: Column, reason: str) -> ValueProblem:
    return ValueProblem(
        f"{table}: column {column.name} cannot store a value in the target: {reason}.",
        "Nothing was loaded; the target keeps what it had.",
        "Give the target's column a type that takes these values, or read the column as text (`columns:`) into one.",
    )
