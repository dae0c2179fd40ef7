"""How SQL Server writes names, values and comparisons.

Facts that shape this file
 * A literal takes its column's own type, or an index on it would not be used. A date in a text means the same in every
   language only with a style; a varchar's code page comes from its collation.
 * Every collation, also a binary one, calls `a` and `a` with a blank equal, and most call `a` and `A` equal: a
   comparison by the column's own collation uses its index, and a second one of the bytes tells them apart. In keys of
   our own, which are binary, a mark stands behind a blank at the end.
 * Names stand in brackets or, as the session is set, in double quotes. A compatible server does not read a bracket that
   is doubled, so a name with one stands in quotes.
 * A backslash at the end of a line inside of a literal joins it with the next one: both are gone.
 * count(*) ends at two thousand million rows, COUNT_BIG does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidegate.databases.sqlserver import variants
from tidegate.databases.sqlserver.types import CHARACTERS, COLLATION, bare, without_collation
from tidegate.sql.text import Dialect, Literal, one_of

_STYLES = {"date": 23, "datetime": 121, "smalldatetime": 121, "datetime2": 121, "datetimeoffset": 121, "time": 121}
_NUMBER_STYLES = {"float": 3, "real": 3}
_ROW_VERSIONS = ("timestamp", "rowversion")
_DOCUMENTS = ("xml", "text", "ntext", "json", "vector")
_NOT_COMPARED = (*_DOCUMENTS, "image", "geometry", "geography")
_AFTER_A_BLANK = "\N{SYMBOL FOR SPACE}"


_PIECES = re.compile("(\0)|(?<=\\\\)(?=\r?\n)")


def quoted(text: str) -> str:
    """A text as a literal. One line ends with a backslash where the next one would be taken for its continuation, and
    a NUL would end the statement: there the literal is put together, as a text without a bound."""
    pieces = [piece for piece in _PIECES.split(text) if piece]
    written = ["NCHAR(0)" if piece == "\0" else "N'" + piece.replace("'", "''") + "'" for piece in pieces] or ["N''"]
    if written == ["NCHAR(0)"] or len(written) > 1:
        return f"(CONVERT(nvarchar(max), {written[0]}){''.join(f' + {piece}' for piece in written[1:])})"
    return written[0]


class SqlServerDialect(Dialect):
    """Names in brackets or quotes; literals in the column's type and with a style; texts told apart by their bytes."""

    # Nobody else writes what was decided on, nor comes between, until the transaction ends.
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
        name, collated = bare(column_type), column_type.partition(" COLLATE ")[2]
        if name in _ROW_VERSIONS:
            return f"CONVERT(binary(8), CONVERT(bigint, {quoted}))"
        if name in ("varchar", "char") and collated:
            quoted = f"{quoted} COLLATE {collated}"
        style = f", {_STYLES[name]}" if name in _STYLES else ""
        return f"CONVERT({without_collation(column_type)}, {quoted}{style})"

    def as_text(self, value: str, column_type: str = "") -> str:
        name = bare(column_type)
        if name in CHARACTERS or not name:
            return self._characters(value, column_type)
        if name in _ROW_VERSIONS:
            return f"CONVERT(nvarchar(20), CONVERT(bigint, {value}))"
        if name == variants.KIND:
            return variants.text_of(value)
        if name in ("money", "smallmoney"):  # whose text has two digits of four
            return f"CONVERT(nvarchar(50), CONVERT(decimal(19, 4), {value}))"
        style = _STYLES.get(name) or _NUMBER_STYLES.get(name)
        return f"CONVERT(nvarchar(50), {value}, {style})" if style else f"CONVERT(nvarchar(50), {value})"

    def _characters(self, value: str, column_type: str) -> str:
        size = "max" if "(max)" in column_type else "4000"
        text = f"CONVERT(nvarchar({size}), {value}) COLLATE {COLLATION}"
        return f"RTRIM({text})" if bare(column_type) in ("char", "nchar") else text

    def exactly(self, column: str, column_type: str = "") -> str:
        if bare(column_type) not in CHARACTERS:
            return column
        text = self._characters(column, column_type)
        return text if bare(column_type) in ("char", "nchar") else f"{text}, DATALENGTH({column})"

    def among(self, column: str, values: Sequence[Literal]) -> str:
        found = super().among(column, values)
        if bare(values[0].type) not in CHARACTERS:
            return found
        kind = "varbinary(max)" if "(max)" in values[0].type else "varbinary(8000)"
        exact = [f"CONVERT({kind}, {self.literal(value)})" for value in values]
        return f"({found} AND {one_of(f'CONVERT({kind}, {column})', exact)})"

    def same(self, one: str, other: str, column_type: str = "") -> str:
        """The server takes texts of unlike case, bytes with more zeros at the end, 0 and -0, and in a sql_variant
        numbers of unlike types for the same, and moments at unlike offsets."""
        name, found = bare(column_type), [super().same(one, other)]
        if name in CHARACTERS:
            kind = "varbinary(max)" if "(max)" in column_type else "varbinary(8000)"
            found.append(f"CONVERT({kind}, {one}) = CONVERT({kind}, {other})")
        if name in (*CHARACTERS, "varbinary"):
            found.append(f"DATALENGTH({one}) = DATALENGTH({other})")
        if name == "datetimeoffset":
            found.append(f"DATEPART(TZOFFSET, {one}) = DATEPART(TZOFFSET, {other})")
        if name in ("float", "real"):
            found.append(f"CONVERT(binary(8), {one}) = CONVERT(binary(8), {other})")
        if name == variants.KIND:
            texts = [f"CONVERT(varbinary(max), {variants.text_of(value)})" for value in (one, other)]
            found.append(" = ".join(texts))
        return found[0] if len(found) == 1 else f"({' AND '.join(found)})"

    def checksum(self, columns: Sequence[tuple[str, str]]) -> str:
        """Of the bytes. CHECKSUM_AGG would let rows that are there twice cancel out. BINARY_CHECKSUM passes over
        documents and spatial values, and over what is behind the first characters of a long text: of those a hash."""
        seen = [_hashed(column, kind) if _is_passed_over(kind) else column for column, kind in columns]
        return f"CONVERT(nvarchar(50), SUM(CONVERT(bigint, BINARY_CHECKSUM({', '.join(seen)}))))"

    def key(self, text: str) -> str:
        return text + _AFTER_A_BLANK if text.endswith((" ", _AFTER_A_BLANK)) else text

    def of_key(self, key: str) -> str:
        return key.removesuffix(_AFTER_A_BLANK)

    def count(self, what: str) -> str:
        return f"COUNT_BIG({what})"

    def first(self, query: str, rows: int) -> str:
        return f"{query} OFFSET 0 ROWS FETCH NEXT {rows:d} ROWS ONLY"


def _is_passed_over(column_type: str) -> bool:
    return bare(column_type) in _NOT_COMPARED or "(max)" in column_type


def _hashed(column: str, column_type: str) -> str:
    if bare(column_type) in _DOCUMENTS:
        column = f"CONVERT(nvarchar(max), {column})"
    return f"HASHBYTES('SHA2_256', CONVERT(varbinary(max), {column}))"


DIALECT = SqlServerDialect()
