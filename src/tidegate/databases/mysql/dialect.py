"""How MySQL and MariaDB write names, values and comparisons.

Facts that shape this file
 * Most collations call `a` and `A` equal, and many `a` and `a` with a blank: a comparison by the column's own
   collation uses its index, and a second one of the bytes tells them apart.
 * In a session with NO_BACKSLASH_ESCAPES a quote is the only character of a text that needs care.
 * A literal takes its column's type and character set, or an index on it would not be used. What that set lacks becomes
   a question mark, which the bytes tell from one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidegate.databases.mysql.types import bare
from tidegate.sql.text import Dialect, Literal, one_of

_CASTS = {"date": "DATE", "datetime": "DATETIME(6)", "timestamp": "DATETIME(6)"}
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "year")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "uuid")
# At the end, behind the list of an enum.
_CHARACTERS = re.compile(r" CHARACTER SET (\w+) COLLATE (\w+)$")
_DECIMAL = re.compile(r"decimal\(\d+,\d+\)")


class MysqlDialect(Dialect):
    """Names in backticks; literals by the few types that a cast can name; texts told apart by their bytes."""

    update_joined = "UPDATE {table} AS t JOIN {stage} AS s ON {on} SET {assigned}"
    assigned = "t.{column} = s.{value}"
    delete_joined = "DELETE t FROM {table} AS t JOIN {stage} AS s ON {on}"

    def name(self, part: str) -> str:
        return "`" + part.replace("`", "``") + "`"

    def typed(self, quoted: str, column_type: str) -> str:
        cast, characters = _cast(column_type), _CHARACTERS.search(column_type)
        if characters and characters[1] != "utf8mb4":
            return f"CONVERT({quoted} USING {characters[1]}) COLLATE {characters[2]}"
        return f"CAST({quoted} AS {cast})" if cast else quoted

    def as_text(self, value: str, column_type: str = "") -> str:
        return f"CAST({value} AS CHAR)"

    def exactly(self, column: str, column_type: str = "") -> str:
        return self.as_text(column)  # in the session's collation, which tells all texts apart

    def among(self, column: str, values: Sequence[Literal]) -> str:
        found = super().among(column, values)
        if bare(values[0].type) not in _TEXTS:
            return found
        plain = [f"CAST({self.literal(Literal(value.value))} AS BINARY)" for value in values]
        return f"({found} AND {one_of(f'CAST(CONVERT({column} USING utf8mb4) AS BINARY)', plain)})"

    def same(self, one: str, other: str, column_type: str = "") -> str:
        found = super().same(one, other)
        if bare(column_type) not in _TEXTS:
            return found
        return f"({found} AND CAST({one} AS BINARY) = CAST({other} AS BINARY))"

    def checksum(self, columns: Sequence[tuple[str, str]]) -> str:
        values = ", ".join(f"QUOTE({column})" for column, _ in columns)  # a null is NULL, a text has quotes
        return f"CAST(SUM(CRC32(CONCAT_WS(',', {values}))) AS CHAR)"


def _cast(column_type: str) -> str:
    name = bare(column_type)
    if name in _INTEGERS:
        return "UNSIGNED" if "unsigned" in column_type else "SIGNED"
    decimal = _DECIMAL.match(column_type)
    return decimal[0].upper() if decimal else _CASTS.get(name, "")


DIALECT = MysqlDialect()
