"""The SQL of MySQL and MariaDB: names, literals and exact comparisons.

Facts that shape this file
 * In most collations `a` = `A`, and in many `a` = `a ` with a trailing blank. So a comparison by the column's collation
   uses the index, and a second comparison of the bytes is exact.
 * With NO_BACKSLASH_ESCAPES, a quote is the only character of a literal that must be escaped.
 * A literal has its column's type and character set, or an index would not be used. A character that the set lacks
   becomes a question mark; the comparison of the bytes rules it out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidegate.databases.mysql.types import base_type
from tidegate.sql.text import Dialect, Literal, equals_any

_CASTS = {"date": "DATE", "datetime": "DATETIME(6)", "timestamp": "DATETIME(6)"}
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "year")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "uuid")
# At the end, after the list of an enum.
_CHARACTERS = re.compile(r" CHARACTER SET (\w+) COLLATE (\w+)$")
_DECIMAL = re.compile(r"decimal\(\d+,\d+\)")


class MysqlDialect(Dialect):
    """Names in backticks; literals cast to the types that CAST knows; texts also compared by their bytes."""

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

    def exact(self, column: str, column_type: str = "") -> str:
        return self.as_text(column)  # in the session's collation, which is exact

    def is_one_of(self, column: str, values: Sequence[Literal]) -> str:
        by_index = super().is_one_of(column, values)
        if base_type(values[0].type) not in _TEXTS:
            return by_index
        exact = [f"CAST({self.literal(Literal(value.value))} AS BINARY)" for value in values]
        return f"({by_index} AND {equals_any(f'CAST(CONVERT({column} USING utf8mb4) AS BINARY)', exact)})"

    def same_value(self, left: str, right: str, column_type: str = "") -> str:
        by_index = super().same_value(left, right)
        if base_type(column_type) not in _TEXTS:
            return by_index
        return f"({by_index} AND CAST({left} AS BINARY) = CAST({right} AS BINARY))"

    def checksum(self, columns: Sequence[tuple[str, str]]) -> str:
        values = ", ".join(
            f"QUOTE({column})" for column, _ in columns
        )  # QUOTE writes NULL for a null, and quotes around a text
        return f"CAST(SUM(CRC32(CONCAT_WS(',', {values}))) AS CHAR)"


def _cast(column_type: str) -> str:
    name = base_type(column_type)
    if name in _INTEGERS:
        return "UNSIGNED" if "unsigned" in column_type else "SIGNED"
    decimal = _DECIMAL.match(column_type)
    return decimal[0].upper() if decimal else _CASTS.get(name, "")


DIALECT = MysqlDialect()
