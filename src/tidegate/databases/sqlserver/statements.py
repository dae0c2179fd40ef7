"""SQL Server's statements for reading rows, and for moving staged rows into their table.

Facts that shape this file
 * Values that the driver or Arrow would cut or shift are read as text, with a style that keeps every digit: the seventh
   digit of a second, offsets, times. The same style converts them back.
 * An explicit CONVERT cuts a text that is too long without an error; an assignment refuses it. So texts are assigned.
 * Documents, spatial values and the like are read as the characters or bytes that convert back to the same value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.databases.sqlserver import variants
from tidegate.databases.sqlserver.types import COLLATION, base_type
from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import AsText, ExactColumn, Literal, Name, Part, Sql, raw, sql

_BINARY_FORMS = {"hierarchyid": "varbinary(892)", "geometry": "varbinary(max)", "geography": "varbinary(max)"}
_TEXT_FORMS = ("xml", "json", "vector", "ntext", "text")
_FROM_TEXT = {"time": 121, "datetime2": 121, "datetimeoffset": 121, "datetime": 121, "smalldatetime": 121, "date": 23}


def select_rows(request: ReadRequest) -> Sql:
    query = select_from(request, Name.of(request.table))
    return query if request.rows is None else sql("{query} WHERE {rows}", query=query, rows=request.rows)


def select_from(request: ReadRequest, place: Part) -> Sql:
    """Return a query for the columns of a request, of all rows of a table or of a query with an alias."""
    columns: list[Part] = [_selected(column, column.name in request.text_columns) for column in request.columns]
    return sql("SELECT {columns} FROM {place}", columns=columns, place=place)


def _selected(column: Column, as_text: bool) -> Part:
    name, kind = Name.of(column.name), base_type(column.type)
    wanted = column.read_as
    if kind == "datetimeoffset" and wanted is not None and wanted.family == "instant" and not as_text:
        in_utc = raw(f"datetime2({column.logical_type.size})")
        return sql("CONVERT({in_utc}, SWITCHOFFSET({name}, 0))", in_utc=in_utc, name=name)
    if kind in _FROM_TEXT and (as_text or column.storage_type in ("text", "string")):
        return AsText(name, column.type)
    if kind == variants.KIND or (kind in ("decimal", "numeric") and as_text):
        return AsText(name, column.type)
    if kind == "uniqueidentifier":
        return sql("LOWER(CONVERT(nvarchar(36), {name}))", name=name)
    if kind in _BINARY_FORMS:
        return sql("CONVERT({form}, {name})", form=raw(_BINARY_FORMS[kind]), name=name)
    if kind in _TEXT_FORMS:
        return sql("CONVERT(nvarchar(max), {name})", name=name)
    if kind == "image":
        return sql("CONVERT(varbinary(max), {name})", name=name)
    if kind in ("money", "smallmoney"):
        return sql("CONVERT(decimal(19, 4), {name})", name=name)
    return name


def count_replacements(request: ReadRequest, columns: Sequence[Column]) -> Sql:
    """Return a query that counts for each column the texts that really hold U+FFFD."""
    counts: list[Part] = [
        sql(
            "COUNT_BIG(CASE WHEN CHARINDEX(NCHAR(65533) COLLATE {exact}, {text} COLLATE {exact}) > 0 THEN 1 END)",
            exact=raw(COLLATION),
            text=sql("CONVERT(nvarchar(max), {name})", name=Name.of(column.name)),
        )
        for column in columns
    ]
    query = sql("SELECT {counts} FROM {table}", counts=counts, table=Name.of(request.table))
    return query if request.rows is None else sql("{query} WHERE {rows}", query=query, rows=request.rows)


def distinct_values(table: TableName, column: Column, limit: int) -> Sql:
    """Return a query for the distinct values that reads the table once."""
    return sql(
        "SELECT TOP ({limit}) {value} FROM {table} WHERE {column} IS NOT NULL GROUP BY {each}",
        limit=Literal(limit),
        value=AsText(Name.of(column.name), column.type),
        table=Name.of(table),
        column=Name.of(column.name),
        each=ExactColumn(Name.of(column.name), column.type),
    )


def sought_values(table: TableName, column: Column, limit: int) -> Sql:
    """Return a query for the distinct values, by one index seek for each value.

    The recursive part may not hold an aggregate, but a ROW_NUMBER."""
    return sql(
        "WITH found AS (\n"
        "  SELECT MIN({column}) AS value FROM {table}\n"
        "  UNION ALL\n"
        "  SELECT next_one.value FROM (\n"
        "    SELECT t.{column} AS value, ROW_NUMBER() OVER (ORDER BY t.{column}) AS place\n"
        "    FROM {table} AS t JOIN found ON t.{column} > found.value) AS next_one\n"
        "  WHERE next_one.place = 1)\n"
        "SELECT TOP ({limit}) {value} FROM found WHERE value IS NOT NULL OPTION (MAXRECURSION 0)",
        column=Name.of(column.name),
        table=Name.of(table),
        limit=Literal(limit),
        value=AsText(Name.of("value"), column.type),
    )


def insert_staged(
    table: TableName, columns: Sequence[Column], stage: TableName, types_of: Mapping[int, Sequence[str]]
) -> Sql:
    """Return the INSERT from a stage, whose columns are named by their number.

    `types_of` has for each sql_variant column the types of its values."""
    into: list[Part] = [Name.of(column.name) for column in columns]
    values: list[Part] = [
        variants.from_text(Name.of(f"c{number}"), types_of[number])
        if number in types_of
        else _from_stage(column, Name.of(f"c{number}"))
        for number, column in enumerate(columns)
    ]
    return sql(
        "INSERT INTO {table} ({into}) SELECT {values} FROM {stage}",
        table=Name.of(table),
        into=into,
        values=values,
        stage=Name.of(stage),
    )


def _from_stage(column: Column, staged: Name) -> Part:
    kind = base_type(column.type)
    if kind in _FROM_TEXT:
        return sql(
            "CONVERT({type}, {staged}, {style})",
            type=raw(column.type),
            staged=staged,
            style=Literal(_FROM_TEXT[kind]),
        )
    if kind == "xml":
        return sql("CONVERT(xml, {staged}, 1)", staged=staged)  # style 1 keeps white space between elements
    if kind in ("hierarchyid", "geometry", "geography", "json", "vector", "uniqueidentifier"):
        return sql("CONVERT({type}, {staged})", type=raw(column.type), staged=staged)
    return staged


def create_stage(stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
    """The columns' own types and collations. Of a union, since a plain SELECT would hand the identity on; a schema of
    xml documents cannot be handed on."""
    chosen: list[Part] = [
        sql("{column} AS {name}", column=_copied(column), name=Name.of(staged_name(number)))
        for number, column in enumerate(columns)
    ]
    return sql(
        "SELECT {columns} INTO {stage} FROM {table} WHERE 1 = 0\nUNION ALL SELECT {columns} FROM {table} WHERE 1 = 0",
        columns=chosen,
        stage=Name.of(stage),
        table=Name.of(table),
    )


def _copied(column: Column) -> Part:
    name = Name.of(column.name)
    return sql("CONVERT(xml, {name})", name=name) if base_type(column.type) == "xml" else name


def characters_lost(columns: Sequence[Column], stage: TableName) -> Sql | None:
    """Return a query for the numbers of the columns whose code page lacks a character of a staged text.

    None if no column has a code page."""
    checks: list[Part] = [
        sql(
            "MAX(CASE WHEN CONVERT(nvarchar(max), CONVERT(varchar(max), {staged} COLLATE {own})) COLLATE {exact}"
            " <> {staged} COLLATE {exact} THEN {number} ELSE -1 END)",
            staged=Name.of(f"c{number}"),
            own=raw(column.collation),
            exact=raw(COLLATION),
            number=Literal(number),
        )
        for number, column in enumerate(columns)
        if base_type(column.type) in ("varchar", "char", "text")
        and column.collation
        and "_UTF8" not in column.collation
    ]
    return sql("SELECT {checks} FROM {stage}", checks=checks, stage=Name.of(stage)) if checks else None
