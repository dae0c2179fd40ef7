"""The statements that SQL Server reads rows by, and that move staged rows into their table.

Facts that shape this file
 * What the driver or Arrow would cut or shift travels as text, written with a style that keeps every digit: the seventh
   digit of a second, offsets, times. The same styles read it again.
 * An explicit CONVERT cuts a text that is too long without a word, an assignment refuses it: texts are assigned.
 * Documents, spatial values and the like come as the characters or bytes that make the same value again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.databases.sqlserver import variants
from tidegate.databases.sqlserver.types import COLLATION, bare
from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import AsText, Exactly, Literal, Name, Part, Sql, raw, sql

_BINARY_FORMS = {"hierarchyid": "varbinary(892)", "geometry": "varbinary(max)", "geography": "varbinary(max)"}
_TEXT_FORMS = ("xml", "json", "vector", "ntext", "text")
_FROM_TEXT = {"time": 121, "datetime2": 121, "datetimeoffset": 121, "datetime": 121, "smalldatetime": 121, "date": 23}


def select_rows(request: ReadRequest) -> Sql:
    columns: list[Part] = [_selected(column, column.name in request.text_columns) for column in request.columns]
    query = sql("SELECT {columns} FROM {table}", columns=columns, table=Name.of(request.table))
    return query if request.rows is None else sql("{query} WHERE {rows}", query=query, rows=request.rows)


def _selected(column: Column, as_text: bool) -> Part:
    name, kind = Name.of(column.name), bare(column.type)
    wanted = column.stands_for
    if kind == "datetimeoffset" and wanted is not None and wanted.family == "instant" and not as_text:
        in_utc = raw(f"datetime2({column.holds.size})")
        return sql("CONVERT({in_utc}, SWITCHOFFSET({name}, 0))", in_utc=in_utc, name=name)
    if kind in _FROM_TEXT and (as_text or column.rests_as in ("text", "string")):
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
    """Of each column how many texts really hold U+FFFD."""
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
    """Every value, by reading the table once."""
    return sql(
        "SELECT TOP ({limit}) {value} FROM {table} WHERE {column} IS NOT NULL GROUP BY {each}",
        limit=Literal(limit),
        value=AsText(Name.of(column.name), column.type),
        table=Name.of(table),
        column=Name.of(column.name),
        each=Exactly(Name.of(column.name), column.type),
    )


def sought_values(table: TableName, column: Column, limit: int) -> Sql:
    """Every value, by one seek each: from every value to the next greater one. An aggregate may not stand in the part
    that repeats, the first of an order may."""
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
    """Stage columns are named by their number. `types_of` tells for each sql_variant which types its values have."""
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
    kind = bare(column.type)
    if kind in _FROM_TEXT:
        return sql(
            "CONVERT({type}, {staged}, {style})",
            type=raw(column.type),
            staged=staged,
            style=Literal(_FROM_TEXT[kind]),
        )
    if kind == "xml":
        return sql("CONVERT(xml, {staged}, 1)", staged=staged)  # 1: with the white space between elements
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
    return sql("CONVERT(xml, {name})", name=name) if bare(column.type) == "xml" else name


def characters_lost(columns: Sequence[Column], stage: TableName) -> Sql | None:
    """For each column of a code page its number, if some staged text would not come back from it. None without them."""
    asked: list[Part] = [
        sql(
            "MAX(CASE WHEN CONVERT(nvarchar(max), CONVERT(varchar(max), {staged} COLLATE {own})) COLLATE {exact}"
            " <> {staged} COLLATE {exact} THEN {number} ELSE -1 END)",
            staged=Name.of(f"c{number}"),
            own=raw(column.collation),
            exact=raw(COLLATION),
            number=Literal(number),
        )
        for number, column in enumerate(columns)
        if bare(column.type) in ("varchar", "char", "text") and column.collation and "_UTF8" not in column.collation
    ]
    return sql("SELECT {asked} FROM {stage}", asked=asked, stage=Name.of(stage)) if asked else None
