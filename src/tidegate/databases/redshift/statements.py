"""Redshift's statements: DDL, the SELECT of a request, COPY, and INSERT from a staging table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.names import TableName, staged_name
from tidegate.sql.text import AsText, Literal, Name, Part, Sql, names, raw, sql

if TYPE_CHECKING:
    import pyarrow as pa


def definition(column: Column) -> Sql:
    ending = "" if column.nullable else " NOT NULL"
    return sql("{name} {type}" + ending, name=Name.of(column.name), type=raw(column.type))


def create_stage(stage: TableName, columns: Sequence[Column]) -> Sql:
    """Return the DDL of a staging table. Without a sort key and with even distribution, COPY writes it fastest."""
    parts: list[Part] = [
        sql("{name} {type}", name=Name.of(staged_name(number)), type=raw(column.type))
        for number, column in enumerate(columns)
    ]
    return sql("CREATE TEMP TABLE {stage} ({parts}) DISTSTYLE EVEN", stage=Name.of(stage), parts=parts)


def select_rows(request: ReadRequest) -> Sql:
    """Return the SELECT of a request. Each column is cast to the type that it is read as."""
    columns = [
        AsText(Name.of(column.name), column.type) if column.name in request.text_columns else _selected(column)
        for column in request.columns
    ]
    query = sql("SELECT {columns} FROM {table}", columns=columns, table=Name.of(request.table))
    return query if request.rows is None else sql("{query} WHERE {rows}", query=query, rows=request.rows)


def _selected(column: Column) -> Part:
    name, wanted = Name.of(column.name), column.read_as
    if wanted is None:
        return name
    if column.logical_type.family == "bool" and wanted.is_integer:
        return sql("CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END", name=name)
    return name


def distinct_values(table: TableName, column: Column, limit: int) -> Sql:
    return sql(
        "SELECT {text} FROM (SELECT DISTINCT {column} AS value FROM {table} WHERE {column} IS NOT NULL) AS found"
        " LIMIT {limit}",
        text=AsText(Name.of("value"), column.type),
        column=Name.of(column.name),
        table=Name.of(table),
        limit=Literal(limit),
    )


# Bulk load


def staged_type(kind: pa.DataType) -> str:
    """Return the type of a column of the table into which COPY writes values of this Arrow type.

    It is the type that COPY knows for the column of the file. What the target's column is, a cast decides."""
    import pyarrow.types as types

    if types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp without time zone"
    plain = {
        "int16": "smallint",
        "int32": "integer",
        "int64": "bigint",
        "bool": "boolean",
        "float": "real",
        "double": "double precision",
        "date32[day]": "date",
        "binary": "binary varying(1024000)",
    }
    return plain.get(str(kind), "character varying(65535)")


def create_copy(copy: TableName, schema: pa.Schema) -> Sql:
    parts: list[Part] = [
        sql("{name} {type}", name=Name.of(staged_name(number)), type=raw(staged_type(field.type)))
        for number, field in enumerate(schema)
    ]
    return sql("CREATE TEMP TABLE {copy} ({parts}) DISTSTYLE EVEN", copy=Name.of(copy), parts=parts)


def copy_from(copy: TableName, manifest: str, role: str) -> Sql:
    """Return the COPY of the files in a manifest. `role` is the ARN of an IAM role, or `default`."""
    chosen = raw("default") if role == "default" else Literal(role)
    return sql(
        "COPY {copy} FROM {manifest} IAM_ROLE {role} FORMAT AS PARQUET MANIFEST",
        copy=Name.of(copy),
        manifest=Literal(manifest),
        role=chosen,
    )


def insert_from_copy(table: TableName, columns: Sequence[Column], schema: pa.Schema, copy: TableName) -> Sql:
    """Return the INSERT that brings the copied rows into a table, in the types of its columns."""
    values = [
        _as_target(Name.of(staged_name(number)), column, field.type)
        for number, (column, field) in enumerate(zip(columns, schema, strict=True))
    ]
    return sql(
        "INSERT INTO {table} ({columns}) SELECT {values} FROM {copy}",
        table=Name.of(table),
        columns=names(column.name for column in columns),
        values=values,
        copy=Name.of(copy),
    )


def _as_target(value: Name, column: Column, kind: pa.DataType) -> Part:
    import pyarrow.types as types

    if column.type == staged_type(kind) and not types.is_timestamp(kind):
        return value
    if types.is_timestamp(kind) and kind.tz is not None and column.logical_type.family == "instant":
        return sql("{value} AT TIME ZONE 'UTC'", value=value)
    if types.is_boolean(kind) and column.logical_type.is_integer:
        return sql("CASE WHEN {value} THEN 1 WHEN NOT {value} THEN 0 END", value=value)
    if types.is_integer(kind) and column.type == "boolean":
        return sql("({value} <> 0)", value=value)
    return sql("CAST({value} AS {type})", value=value, type=raw(column.type))


def repeated_keys(table: TableName, key: Collection[str]) -> Sql:
    """Return a query for one row where a key of the table is there twice. Nulls are no key."""
    columns = names(key)
    present: Sql = sql("{column} IS NOT NULL", column=columns[0])
    for column in columns[1:]:
        present = sql("{present} AND {column} IS NOT NULL", present=present, column=column)
    return sql(
        "SELECT 1 FROM {table} WHERE {present} GROUP BY {columns} HAVING COUNT(*) > 1 LIMIT 1",
        table=Name.of(table),
        present=present,
        columns=columns,
    )
