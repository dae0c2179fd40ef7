"""How PostgreSQL writes names, values and comparisons: as the standard has it, and keys told apart by their texts.

Facts that shape this file
 * Its `=` calls values equal that are not the same: 1.5 and 1.50, 0 and -0, a month and 30 days, a text with blanks
   at its end in a character(n), and whatever a collation that is not deterministic says.
 * json, xml, points and polygons, and what is made of them, have no `=` at all; that of boxes, circles and paths
   compares how large they are. Every type has a text, which reads back as the same value.
"""

from __future__ import annotations

import re

from tidegate.sql.text import Dialect

_TOLD_APART = (
    *("smallint", "integer", "bigint", "oid", "boolean", "money", "uuid", "bytea", "bit", "bit varying", "date"),
    *("time without time zone", "time with time zone"),
    *("timestamp without time zone", "timestamp with time zone"),
)
_ALIKE = (
    *("text", "character varying", "character", "bpchar", "name", '"char"'),
    *("numeric", "real", "double precision", "interval", "jsonb"),
)
_SIZE = re.compile(r"\(.*?\)")


class PostgresqlDialect(Dialect):
    """The standard's words. An index is used where the type has one; the texts have the last word."""

    def same(self, one: str, other: str, column_type: str = "") -> str:
        found, kind = super().same(one, other), _SIZE.sub("", column_type)
        if not kind or kind in _TOLD_APART or column_type.startswith("numeric("):
            return found
        texts = f'CAST({one} AS text) COLLATE "C" = CAST({other} AS text) COLLATE "C"'
        return f"({found} AND {texts})" if kind in _ALIKE else texts


DIALECT = PostgresqlDialect()
