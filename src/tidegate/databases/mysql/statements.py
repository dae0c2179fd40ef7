"""The statements that MySQL and MariaDB read rows by: what each column is selected as."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import AsText, Literal, Name, Part, Sql, sql


def select_rows(request: ReadRequest) -> Sql:
    columns: list[Part] = [_selected(column, column.name in request.text_columns) for column in request.columns]
    query = sql("SELECT {columns} FROM {table}", columns=columns, table=Name.of(request.table))
    return query if request.rows is None else sql("{query} WHERE {rows}", query=query, rows=request.rows)


def _selected(column: Column, as_text: bool) -> Part:
    name, wanted, family = Name.of(column.name), column.stands_for, column.holds.family
    if family in ("float32", "float64"):
        # As a double with all its digits, which a FLOAT alone does not show.
        return sql("{name} * 1e0", name=name)
    if family == "bits":
        size = Literal(column.holds.size or 1)
        return sql("LPAD(BIN({name}), {size}, '0')", name=name, size=size)
    if column.holds.rests_as == "binary" and as_text:
        return sql("CONCAT('\\x', LOWER(HEX({name})))", name=name)
    if family in ("clock", "timestamp", "instant") and as_text and column.holds.size:
        # Without zeros at the end of a second's fraction, as others write it.
        return sql("TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST({name} AS CHAR)))", name=name)
    if wanted is None:
        return name
    if wanted.family == "bool" and column.holds.is_integer:
        return name  # what is neither 0 nor 1 is no truth, and fails to be read as one
    if wanted.family == "char" and family == "trimmed":
        return sql("RPAD({name}, {size}, ' ')", name=name, size=Literal(wanted.size))
    return name


def distinct_values(table: TableName, column: Column, limit: int, *, by_index: bool) -> Sql:
    """Every value. With an index over values that no collation confuses, the server itself skips from one to the next
    (a loose index scan); else each text counts, told apart by its bytes."""
    value: Part = Name.of(column.name) if by_index else AsText(Name.of(column.name))
    return sql(
        "SELECT CAST(found.value AS CHAR)\n"
        "FROM (SELECT DISTINCT {value} AS value FROM {table} WHERE {column} IS NOT NULL) AS found LIMIT {limit}",
        value=value,
        table=Name.of(table),
        column=Name.of(column.name),
        limit=Literal(limit),
    )


def create_stage(stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
    """The columns' own types and character sets. From a join that has no rows, so that none of them is required: the
    default of a date that is would be refused."""
    chosen: list[Part] = [
        sql("t.{column} AS {name}", column=Name.of(column.name), name=Name.of(staged_name(number)))
        for number, column in enumerate(columns)
    ]
    return sql(
        "CREATE TEMPORARY TABLE {stage} ENGINE = InnoDB AS\n"
        "SELECT {columns} FROM (SELECT 1 AS one) AS o LEFT JOIN {table} AS t ON 1 = 0 LIMIT 0",
        stage=Name.of(stage),
        columns=chosen,
        table=Name.of(table),
    )
