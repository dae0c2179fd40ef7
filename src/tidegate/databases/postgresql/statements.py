"""PostgreSQL's statements for reading rows and distinct values, and for staging tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import AsText, Literal, Name, Part, Sql, sql


def select_rows(request: ReadRequest, as_text: Collection[str] = ()) -> Sql:
    """Return the SELECT of a request. Each column is cast to the type that it is read as."""
    columns = [
        AsText(Name.of(column.name)) if column.name in as_text else _selected(column) for column in request.columns
    ]
    return _select(request, columns)


def _select(request: ReadRequest, columns: Sequence[Part]) -> Sql:
    query = sql("SELECT {columns} FROM {table}", columns=columns, table=Name.of(request.table))
    return query if request.rows is None else sql("{query} WHERE {rows}", query=query, rows=request.rows)


def _selected(column: Column) -> Part:
    name, wanted = Name.of(column.name), column.read_as
    if column.type == "money":
        return sql("CAST({name} AS numeric)", name=name)
    if wanted is None:
        return name
    if column.logical_type.family == "bool" and wanted.is_integer:
        return sql("CAST({name} AS integer)", name=name)
    if column.logical_type.is_integer and wanted.family == "bool":
        # Any other number stays a number, so that reading it as bool fails instead of giving true or null.
        return sql("CASE {name} WHEN 0 THEN 'f' WHEN 1 THEN 't' ELSE CAST({name} AS text) END", name=name)
    if column.logical_type.family == "char" and wanted.family == "trimmed":
        return sql("CAST({name} AS text)", name=name)  # the cast drops the padding
    return name


def distinct_by_index(table: TableName, column: Column, limit: int) -> Sql:
    """Return a query for the distinct values, by one index seek for each value, without a scan."""
    # The alias `held`, since the table may be called `seek` and its column `value`.
    return sql(
        "WITH RECURSIVE seek(value) AS (\n"
        "  (SELECT held.{column} FROM {table} AS held WHERE held.{column} IS NOT NULL ORDER BY held.{column} LIMIT 1)\n"
        "  UNION ALL\n"
        "  SELECT (SELECT held.{column} FROM {table} AS held WHERE held.{column} > seek.value"
        " ORDER BY held.{column} LIMIT 1)\n"
        "  FROM seek WHERE seek.value IS NOT NULL\n"
        ")\n"
        "SELECT CAST(value AS text) FROM seek WHERE value IS NOT NULL LIMIT {limit}",
        column=Name.of(column.name),
        table=Name.of(table),
        limit=Literal(limit),
    )


def distinct_by_scan(table: TableName, column: Column, limit: int) -> Sql:
    """Return a query for the distinct values that reads the table once, for columns without an index."""
    return sql(
        "SELECT {text}\n"
        "FROM (SELECT DISTINCT {column} AS value FROM {table} WHERE {column} IS NOT NULL) AS found LIMIT {limit}",
        text=AsText(Name.of("value")),
        column=Name.of(column.name),
        table=Name.of(table),
        limit=Literal(limit),
    )


def create_stage(stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
    """Return the DDL of a staging table: nullable columns with the types and collations of the table's columns."""
    chosen: list[Part] = [
        sql("{column} AS {name}", column=Name.of(column.name), name=Name.of(staged_name(number)))
        for number, column in enumerate(columns)
    ]
    return sql(
        "CREATE TEMPORARY TABLE {stage} AS SELECT {columns} FROM {table} WITH NO DATA",
        stage=Name.of(stage),
        columns=chosen,
        table=Name.of(table),
    )
