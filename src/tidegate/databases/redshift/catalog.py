"""Queries of Redshift's catalog, and table schemas from their answers.

Facts that shape this file
 * The catalog is PostgreSQL's of old, on the leader node: no arrays are unfolded here, constraints come as text.
 * The default of an identity column is a call of `identity` or `default_identity`.
 * Primary and unique keys are declared, and nobody enforces them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.databases.redshift.types import KIND, logical_type
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName, resolve_names
from tidegate.sql.text import Literal, Sql, sql

IDENTITY = sql("SELECT CURRENT_NAMESPACE || '/' || CURRENT_DATABASE()")
NOW = sql('SELECT TO_CHAR(SYSDATE, \'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"\')')
TABLES = sql(
    "SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace\n"
    "WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'tidegate', 'pg_internal',"
    " 'catalog_history', 'pg_automv')\n"
    "AND n.nspname NOT LIKE 'pg_temp%' AND n.nspname NOT LIKE 'pg_toast%'\n"
    "AND HAS_TABLE_PRIVILEGE(c.oid, 'SELECT') ORDER BY 1, 2"
)
_IDENTITY = re.compile(r'"?(default_)?identity"?\(')
_KEY = re.compile(r"(PRIMARY KEY|UNIQUE) \((.*)\)")
_NAME = re.compile(r'"((?:[^"]|"")*)"|([^",\s]+)')


def columns(names: Sequence[TableName]) -> Sql:
    return sql(
        "SELECT n.nspname, c.relname, CAST(c.reltuples AS bigint), HAS_TABLE_PRIVILEGE(c.oid, 'SELECT'),\n"
        " a.attname, FORMAT_TYPE(a.atttypid, a.atttypmod), a.attnotnull,\n"
        " COALESCE(PG_GET_EXPR(d.adbin, d.adrelid), '')\n"
        "FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace\n"
        "JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped\n"
        "LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum\n"
        "WHERE c.relkind IN ('r', 'v') AND ({chosen}) ORDER BY n.nspname, c.relname, a.attnum",
        chosen=_chosen(names),
    )


def keys(names: Sequence[TableName]) -> Sql:
    return sql(
        "SELECT n.nspname, c.relname, PG_GET_CONSTRAINTDEF(k.oid)\n"
        "FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid\n"
        "JOIN pg_namespace AS n ON n.oid = c.relnamespace\n"
        "WHERE k.contype IN ('p', 'u') AND ({chosen}) ORDER BY k.oid",
        chosen=_chosen(names),
    )


def existing(name: TableName) -> Sql:
    """Return a query for a row where a table of this name exists."""
    return sql(
        "SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE {chosen}",
        chosen=_chosen([name]),
    )


def _chosen(names: Sequence[TableName]) -> Sql:
    conditions = [
        sql(
            "LOWER(n.nspname) = {schema} AND LOWER(c.relname) = {table}",
            schema=Literal(name.schema.lower()),
            table=Literal(name.name.lower()),
        )
        for name in names
    ]
    found = conditions[0]
    for condition in conditions[1:]:
        found = sql("{found} OR {condition}", found=found, condition=condition)
    return found


def table_schemas(
    names: Sequence[TableName], columns: Iterable[Any], keys: Iterable[Any]
) -> dict[TableName, TableSchema]:
    """Return the schema of each name that exists, in exactly this case or as the only one that differs in case."""
    found: dict[TableName, dict[str, Any]] = {}
    for schema, table, estimate, readable, *column in columns:
        entry = found.setdefault(TableName(schema, table), {"columns": [], "primary_key": (), "unique_keys": []})
        entry |= {"row_estimate": max(int(estimate or 0), 0), "readable": bool(readable)}
        entry["columns"].append(_column(*column))
    for schema, table, text in keys:
        entry = found.get(TableName(schema, table), {})
        parsed = _KEY.match(str(text))
        if entry and parsed:
            key = tuple(quoted.replace('""', '"') or plain for quoted, plain in _NAME.findall(parsed[2]))
            if parsed[1] == "PRIMARY KEY":
                entry["primary_key"] = key
            else:
                entry["unique_keys"].append(key)
    schemas = {
        name: TableSchema(
            name=name,
            columns=tuple(entry["columns"]),
            primary_key=entry["primary_key"],
            unique_keys=tuple(entry["unique_keys"]),
            row_estimate=entry["row_estimate"],
            readable=entry["readable"],
        )
        for name, entry in found.items()
    }
    return {name: schemas[real] for name, real in resolve_names(names, schemas).items()}


def _column(name: str, declared: str, required: bool, default: str) -> Column:
    kind = logical_type(declared)
    identity = bool(_IDENTITY.match(default))
    return Column(
        name=name,
        type=declared,
        storage_type=kind.storage_type,
        nullable=not required,
        identity=identity,
        has_default=bool(default),
        logical_type=kind,
        database=KIND,
    )
