"""The statements that PostgreSQL reads rows and values by."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import AsText, Literal, Name, Part, Sql, sql


def select_rows(request: ReadRequest, as_text: Collection[str] = ()) -> Sql:
    """The select list is ours: each column in its request's order, as what it is to be read as."""
    columns = [
        AsText(Name.of(column.name)) if column.name in as_text else _selected(column) for column in request.columns
    ]
    return _rows_of(request, columns)


def _rows_of(request: ReadRequest, columns: Sequence[Part]) -> Sql:
    query = sql("SELECT {columns} FROM {table}", columns=columns, table=Name.of(request.table))
    return query if request.rows is None else sql("{query} WHERE {rows}", query=query, rows=request.rows)


def _selected(column: Column) -> Part:
    name, wanted = Name.of(column.name), column.stands_for
    if column.type == "money":
        return sql("CAST({name} AS numeric)", name=name)
    if wanted is None:
        return name
    if column.holds.family == "bool" and wanted.is_integer:
        return sql("CAST({name} AS integer)", name=name)
    if column.holds.is_integer and wanted.family == "bool":
        # What is neither 0 nor 1 is no truth, nor a null: it must fail to be read as one.
        return sql("CASE {name} WHEN 0 THEN 'f' WHEN 1 THEN 't' ELSE CAST({name} AS text) END", name=name)
    if column.holds.family == "char" and wanted.family == "trimmed":
        return sql("CAST({name} AS text)", name=name)  # which drops the padding
    return name


def distinct_by_index(table: TableName, column: Column, limit: int) -> Sql:
    """Every value, one index seek each: no row is read twice and no scan is needed."""
    # The table goes by a name of ours, since its own may be `seek` and its column `value`.
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
    """Every value, by reading the table once: for columns without an index."""
    return sql(
        "SELECT {text}\n"
        "FROM (SELECT DISTINCT {column} AS value FROM {table} WHERE {column} IS NOT NULL) AS found LIMIT {limit}",
        text=AsText(Name.of("value")),
        column=Name.of(column.name),
        table=Name.of(table),
        limit=Literal(limit),
    )


def create_stage(stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
    """Each column of the type, the collation and the name that it has to have, none of them required."""
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
