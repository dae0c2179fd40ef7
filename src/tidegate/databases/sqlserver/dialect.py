"""SQL Server's SQL: names, literals and exact comparisons.

Facts that shape this file
 * A literal has its column's type, or an index would not be used. The text of a date means the same in every language
   only with a style. The code page of a varchar comes from its collation.
 * In every collation, also a binary one, `a` = `a ` with a trailing blank, and in most `a` = `A`. So a comparison by
   the column's collation uses the index, and a second comparison of the bytes is exact. Keys of our own tables are
   binary: there a mark is added after a trailing blank.
 * Names are in brackets or, with QUOTED_IDENTIFIER, in double quotes. A compatible server cannot read a doubled
   bracket, so a name with a bracket is in quotes.
 * A backslash at the end of a line inside a literal joins the line with the next: backslash and line break are lost.
 * count(*) overflows at 2^31 rows, COUNT_BIG does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidegate.databases.sqlserver import variants
from tidegate.databases.sqlserver.types import CHARACTERS, COLLATION, base_type, without_collation
from tidegate.sql.text import Dialect, Literal, equals_any

_STYLES = {"date": 23, "datetime": 121, "smalldatetime": 121, "datetime2": 121, "datetimeoffset": 121, "time": 121}
_NUMBER_STYLES = {"float": 3, "real": 3}
_ROW_VERSIONS = ("timestamp", "rowversion")
_DOCUMENTS = ("xml", "text", "ntext", "json", "vector")
_NOT_COMPARED = (*_DOCUMENTS, "image", "geometry", "geography")
_AFTER_A_BLANK = "\N{SYMBOL FOR SPACE}"


_PIECES = re.compile("(\0)|(?<=\\\\)(?=\r?\n)")


def quoted(text: str) -> str:
    """Return a text as a literal.

    A backslash before a line break would be a continuation, and a NUL would end the statement: such a literal is
    concatenated from pieces, as nvarchar(max)."""
    pieces = [piece for piece in _PIECES.split(text) if piece]
    written = ["NCHAR(0)" if piece == "\0" else "N'" + piece.replace("'", "''") + "'" for piece in pieces] or ["N''"]
    if written == ["NCHAR(0)"] or len(written) > 1:
        return f"(CONVERT(nvarchar(max), {written[0]}){''.join(f' + {piece}' for piece in written[1:])})"
    return written[0]


class SqlServerDialect(Dialect):
    """Names in brackets or quotes; literals in the column's type, with a style; texts also compared by their bytes."""

    # Nobody else changes these rows, or inserts rows between them, until the transaction ends.
    update_joined = "UPDATE t SET {assigned} FROM {table} AS t WITH (UPDLOCK, HOLDLOCK) JOIN {stage} AS s ON {on}"
    locked = "{table} WITH (UPDLOCK, HOLDLOCK){where}"
    delete_joined = "DELETE t FROM {table} AS t WITH (UPDLOCK, HOLDLOCK) JOIN {stage} AS s ON {on}"

    def name(self, part: str) -> str:
        return super().name(part) if "]" in part else f"[{part}]"

    def literal(self, literal: Literal) -> str:
        if literal.value is None or (isinstance(literal.value, int) and not literal.type):
            return super().literal(literal)
        text = quoted(str(literal.value))
        return self.typed(text, literal.type) if literal.type else text

    def typed(self, quoted: str, column_type: str) -> str:
        name, collated = base_type(column_type), column_type.partition(" COLLATE ")[2]
        if name in _ROW_VERSIONS:
            return f"CONVERT(binary(8), CONVERT(bigint, {quoted}))"
        if name in ("varchar", "char") and collated:
            quoted = f"{quoted} COLLATE {collated}"
        style = f", {_STYLES[name]}" if name in _STYLES else ""
        return f"CONVERT({without_collation(column_type)}, {quoted}{style})"

    def as_text(self, value: str, column_type: str = "") -> str:
        name = base_type(column_type)
        if name in CHARACTERS or not name:
            return self._characters(value, column_type)
        if name in _ROW_VERSIONS:
            return f"CONVERT(nvarchar(20), CONVERT(bigint, {value}))"
        if name == variants.KIND:
            return variants.text_of(value)
        if name in ("money", "smallmoney"):  # a plain CONVERT shows two of their four digits
            return f"CONVERT(nvarchar(50), CONVERT(decimal(19, 4), {value}))"
        style = _STYLES.get(name) or _NUMBER_STYLES.get(name)
        return f"CONVERT(nvarchar(50), {value}, {style})" if style else f"CONVERT(nvarchar(50), {value})"

    def _characters(self, value: str, column_type: str) -> str:
        size = "max" if "(max)" in column_type else "4000"
        text = f"CONVERT(nvarchar({size}), {value}) COLLATE {COLLATION}"
        return f"RTRIM({text})" if base_type(column_type) in ("char", "nchar") else text

    def exact(self, column: str, column_type: str = "") -> str:
        if base_type(column_type) not in CHARACTERS:
            return column
        text = self._characters(column, column_type)
        return text if base_type(column_type) in ("char", "nchar") else f"{text}, DATALENGTH({column})"

    def is_one_of(self, column: str, values: Sequence[Literal]) -> str:
        by_index = super().is_one_of(column, values)
        if base_type(values[0].type) not in CHARACTERS:
            return by_index
        kind = "varbinary(max)" if "(max)" in values[0].type else "varbinary(8000)"
        exact = [f"CONVERT({kind}, {self.literal(value)})" for value in values]
        return f"({by_index} AND {equals_any(f'CONVERT({kind}, {column})', exact)})"

    def same_value(self, left: str, right: str, column_type: str = "") -> str:
        """For the server these are equal: texts of different case, bytes with and without trailing zeros, 0 and -0, one
        instant at different offsets, and in a sql_variant numbers of different types."""
        name, found = base_type(column_type), [super().same_value(left, right)]
        if name in CHARACTERS:
            kind = "varbinary(max)" if "(max)" in column_type else "varbinary(8000)"
            found.append(f"CONVERT({kind}, {left}) = CONVERT({kind}, {right})")
        if name in (*CHARACTERS, "varbinary"):
            found.append(f"DATALENGTH({left}) = DATALENGTH({right})")
        if name == "datetimeoffset":
            found.append(f"DATEPART(TZOFFSET, {left}) = DATEPART(TZOFFSET, {right})")
        if name in ("float", "real"):
            found.append(f"CONVERT(binary(8), {left}) = CONVERT(binary(8), {right})")
        if name == variants.KIND:
            texts = [f"CONVERT(varbinary(max), {variants.text_of(value)})" for value in (left, right)]
            found.append(" = ".join(texts))
        return found[0] if len(found) == 1 else f"({' AND '.join(found)})"

    def checksum(self, columns: Sequence[tuple[str, str]]) -> str:
        """A sum, since duplicate rows cancel out in CHECKSUM_AGG. BINARY_CHECKSUM ignores documents, spatial values and
        the end of long texts: these are hashed first."""
        arguments = [_hashed(column, kind) if _is_ignored_by_checksum(kind) else column for column, kind in columns]
        return f"CONVERT(nvarchar(50), SUM(CONVERT(bigint, BINARY_CHECKSUM({', '.join(arguments)}))))"

    def encode_key(self, text: str) -> str:
        return text + _AFTER_A_BLANK if text.endswith((" ", _AFTER_A_BLANK)) else text

    def decode_key(self, key: str) -> str:
        return key.removesuffix(_AFTER_A_BLANK)

    def count(self, expression: str) -> str:
        return f"COUNT_BIG({expression})"

    def first(self, query: str, rows: int) -> str:
        return f"{query} OFFSET 0 ROWS FETCH NEXT {rows:d} ROWS ONLY"

    def nth(self, query: str, before: int) -> str:
        return f"{query} OFFSET {before:d} ROWS FETCH NEXT 1 ROWS ONLY"


def _is_ignored_by_checksum(column_type: str) -> bool:
    return base_type(column_type) in _NOT_COMPARED or "(max)" in column_type


def _hashed(column: str, column_type: str) -> str:
    if base_type(column_type) in _DOCUMENTS:
        column = f"CONVERT(nvarchar(max), {column})"
    return f"HASHBYTES('SHA2_256', CONVERT(varbinary(max), {column}))"


DIALECT = SqlServerDialect()
