"""Redshift's SQL: names, literals, exact comparisons, UPDATE and DELETE without aliases.

Facts that shape this file
 * Names are folded to lower case, also in quotes, unless the cluster or the session says otherwise.
 * Blanks at the end of a text do not count in a comparison: 'a' = 'a ' is true. The lengths tell them apart.
 * A backslash in a literal is an escape on some settings and a character on others. CHR(92) is one everywhere.
 * TEXT is VARCHAR(256): a cast to it would cut. A bool has no cast to text.
 * DELETE knows no alias of its table. There is no FOR UPDATE: the lock of the ledger keeps other loads away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidegate.sql.text import Dialect, Literal, Name, SameValue, render

_AFTER_A_BLANK = "\N{SYMBOL FOR SPACE}"
_SIZE = re.compile(r"\(.*?\)")
_TEXTS = ("character varying", "character")
_BACKSLASHES = re.compile(r"(\\+)")


class RedshiftDialect(Dialect):
    """Standard SQL in the forms that Redshift documents."""

    update_joined = "UPDATE {table} SET {assigned} FROM {stage} WHERE {on}"
    delete_joined = "DELETE FROM {table} USING {stage} WHERE {on}"
    assigned = "{column} = {stage}.{value}"
    locked = "{table}{where}"
    joins_by_alias = False
    longest_text = 65_535

    def literal(self, literal: Literal) -> str:
        if literal.value is None or (isinstance(literal.value, int) and not literal.type):
            return super().literal(literal)
        quoted = _quoted(str(literal.value))
        return self.typed(quoted, literal.type) if literal.type else quoted

    def as_text(self, value: str, column_type: str = "") -> str:
        if column_type == "boolean":
            return f"CASE WHEN {value} THEN 'true' WHEN NOT {value} THEN 'false' END"
        return f"CAST({value} AS character varying(65535))"

    def exact(self, column: str, column_type: str = "") -> str:
        return f"{column}, OCTET_LENGTH({column})" if _is_text(column_type) else column

    def is_one_of(self, column: str, values: Sequence[Literal]) -> str:
        equal = super().is_one_of(column, values)
        if not _is_text(values[0].type):
            return equal
        exact = [
            f"({column} = {self.literal(value)} AND OCTET_LENGTH({column}) = {len(str(value.value).encode())})"
            for value in values
        ]
        return exact[0] if len(exact) == 1 else f"({' OR '.join(exact)})"

    def same_value(self, left: str, right: str, column_type: str = "") -> str:
        equal = super().same_value(left, right)
        if not _is_text(column_type):
            return equal
        return f"({equal} AND OCTET_LENGTH({left}) = OCTET_LENGTH({right}))"

    def key_is_staged(self, keys: str, on: Sequence[tuple[SameValue, str]]) -> str:
        """A subquery that refers to the row around it is planned in few forms only: this one stands by itself."""
        own: list[str] = []
        staged: list[str] = []
        for same, _ in on:
            for parts, side in ((staged, Name.of(same.left.parts[-1])), (own, same.right)):
                name = render(side, self)
                parts += [name, f"OCTET_LENGTH({name})"] if _is_text(same.type) else [name]
        return f"({', '.join(own)}) IN (SELECT {', '.join(staged)} FROM {keys})"  # noqa: S608

    def encode_key(self, text: str) -> str:
        return text + _AFTER_A_BLANK if text.endswith((" ", _AFTER_A_BLANK)) else text

    def decode_key(self, key: str) -> str:
        return key.removesuffix(_AFTER_A_BLANK)

    def checksum(self, columns: Sequence[tuple[str, str]]) -> str:
        """A sum of hashes, so that the order of rows does not count. FNV_HASH takes the hash of the column before."""
        chained = ""
        for column, _ in columns:
            chained = f"FNV_HASH({column}, {chained})" if chained else f"FNV_HASH({column})"
        return f"CAST(SUM(CAST({chained} AS numeric(38,0))) AS character varying(50))"


def _is_text(column_type: str) -> bool:
    return _SIZE.sub("", column_type) in _TEXTS


def _quoted(text: str) -> str:
    pieces = [piece for piece in _BACKSLASHES.split(text) if piece]
    written = [_piece(piece) for piece in pieces] or ["''"]
    return written[0] if len(written) == 1 and not text.startswith("\\") else f"({' || '.join(written)})"


def _piece(piece: str) -> str:
    if piece.startswith("\\"):
        return " || ".join(["CHR(92)"] * len(piece))
    return "'" + piece.replace("'", "''") + "'"


DIALECT = RedshiftDialect()
