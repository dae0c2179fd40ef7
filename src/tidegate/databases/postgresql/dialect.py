"""How PostgreSQL writes names, values and comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.sql.text import Literal


class PostgresqlDialect:
    """Names in double quotes, values in single ones, each literal in its column's type."""

    def name(self, part: str) -> str:
        return '"' + part.replace('"', '""') + '"'

    def literal(self, literal: Literal) -> str:
        if literal.value is None:
            return "NULL"
        if isinstance(literal.value, int) and not literal.type:
            return str(literal.value)
        quoted = "'" + str(literal.value).replace("'", "''") + "'"
        return f"CAST({quoted} AS {literal.type})" if literal.type else quoted

    def as_text(self, value: str) -> str:
        return f"CAST({value} AS text)"

    def exactly(self, column: str) -> str:
        return column

    def among(self, column: str, values: Sequence[Literal]) -> str:
        written = [self.literal(value) for value in values]
        return f"{column} = {written[0]}" if len(written) == 1 else f"{column} IN ({', '.join(written)})"

    def first(self, query: str, rows: int) -> str:
        return f"{query} LIMIT {rows:d}"


DIALECT = PostgresqlDialect()
