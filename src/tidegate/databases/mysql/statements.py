"""MySQL's and MariaDB's statements for reading rows and distinct values, and for staging tables."""

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
    name, wanted, family = Name.of(column.name), column.read_as, column.logical_type.family
    if family in ("float32", "float64"):
        # As a double, with all digits: the server shows only six digits of a FLOAT.
        return sql("{name} * 1e0", name=name)
    if family == "bits":
        size = Literal(column.logical_type.size or 1)
        return sql("LPAD(BIN({name}), {size}, '0')", name=name, size=size)
    if column.logical_type.storage_type == "binary" and as_text:
        return sql("CONCAT('\\x', LOWER(HEX({name})))", name=name)
    if family in ("clock", "timestamp", "instant") and as_text and column.logical_type.size:
        # Without trailing zeros in the fraction of a second, as the other databases write it.
        return sql("TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST({name} AS CHAR)))", name=name)
    if wanted is None:
        return name
    if wanted.family == "bool" and column.logical_type.is_integer:
        return name  # reading any other number than 0 and 1 as bool fails
    if wanted.family == "char" and family == "trimmed":
        return sql("RPAD({name}, {size}, ' ')", name=name, size=Literal(wanted.size))
    return name


def distinct_values(table: TableName, column: Column, limit: int, *, by_index: bool) -> Sql:
    """Return a query for the distinct values.

    `by_index` if an index with exact values starts with the column: the server then skips from value to value (a loose
    index scan). Otherwise texts are compared by their bytes."""
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
    """Return the DDL of a staging table: nullable columns with the types and character sets of the table's columns.

    The outer join without rows makes them nullable: a NOT NULL date would get a default that the server refuses."""
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
