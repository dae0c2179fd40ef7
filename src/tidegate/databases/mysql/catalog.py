"""Queries of the catalog of MySQL and MariaDB, and table schemas from their answers.

Facts that shape this file
 * information_schema shows only objects on which the login has some right. Whether names are case-sensitive depends on
   the server and on the statement. So names are first looked up in the list of tables, and then used as written there.
 * The row estimate is the engine's, and may be far off.
 * Only a BTREE index over whole columns can find the next greater value.
 * A login sees triggers only with the TRIGGER right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.databases.mysql.types import KIND, base_type, logical_type
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Sql, sql

_TRANSACTIONAL = ("innodb", "xtradb", "rocksdb", "ndbcluster", "ndb", "tokudb", "")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set")

# The catalog escapes the texts of an enum with backslashes, also if the session has NO_BACKSLASH_ESCAPES.
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_UNESCAPED = {"n": "\n", "r": "\r", "0": "\0"}

_COLUMNS = """
SELECT c.TABLE_SCHEMA, c.TABLE_NAME, COALESCE(t.TABLE_ROWS, 0), COALESCE(t.ENGINE, ''),
       c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE, c.EXTRA, COALESCE(c.COLUMN_DEFAULT, 'NULL') <> 'NULL',
       COALESCE(c.GENERATION_EXPRESSION, '') <> '', c.CHARACTER_MAXIMUM_LENGTH, c.NUMERIC_PRECISION, c.NUMERIC_SCALE,
       c.DATETIME_PRECISION, c.CHARACTER_SET_NAME, c.COLLATION_NAME, c.COLUMN_COMMENT <> '', c.PRIVILEGES
FROM information_schema.COLUMNS AS c
JOIN information_schema.TABLES AS t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
WHERE (c.TABLE_SCHEMA, c.TABLE_NAME) IN ({names})
ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, c.ORDINAL_POSITION
"""
_KEYS = """
SELECT s.TABLE_SCHEMA, s.TABLE_NAME, s.INDEX_NAME, s.NON_UNIQUE, s.COLUMN_NAME,
       s.INDEX_TYPE <> 'BTREE' OR s.SUB_PART IS NOT NULL OR s.COLUMN_NAME IS NULL
FROM information_schema.STATISTICS AS s
WHERE (s.TABLE_SCHEMA, s.TABLE_NAME) IN ({names})
ORDER BY s.TABLE_SCHEMA, s.TABLE_NAME, s.INDEX_NAME, s.SEQ_IN_INDEX
"""
_GUARDS = """
SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, 'triggers', TRIGGER_NAME FROM information_schema.TRIGGERS
WHERE (EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE) IN ({names})
UNION
SELECT k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, 'referenced_by', CONCAT(k.TABLE_SCHEMA, '.', k.TABLE_NAME)
FROM information_schema.KEY_COLUMN_USAGE AS k
WHERE (k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME) IN ({names})
UNION
SELECT r.UNIQUE_CONSTRAINT_SCHEMA, r.REFERENCED_TABLE_NAME, 'cascades_to',
       CONCAT(r.CONSTRAINT_SCHEMA, '.', r.TABLE_NAME)
FROM information_schema.REFERENTIAL_CONSTRAINTS AS r
WHERE r.DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION')
  AND (r.UNIQUE_CONSTRAINT_SCHEMA, r.REFERENCED_TABLE_NAME) IN ({names})
UNION
SELECT k.TABLE_SCHEMA, k.TABLE_NAME, 'references', CONCAT(k.REFERENCED_TABLE_SCHEMA, '.', k.REFERENCED_TABLE_NAME)
FROM information_schema.KEY_COLUMN_USAGE AS k
WHERE k.REFERENCED_TABLE_NAME IS NOT NULL AND (k.TABLE_SCHEMA, k.TABLE_NAME) IN ({names})
UNION
SELECT p.TABLE_SCHEMA, p.TABLE_NAME, 'partitioned_by', CONCAT(p.PARTITION_METHOD, ' ', p.PARTITION_EXPRESSION)
FROM information_schema.PARTITIONS AS p
WHERE p.PARTITION_METHOD IS NOT NULL AND (p.TABLE_SCHEMA, p.TABLE_NAME) IN ({names})
"""
_SPELLINGS = """
SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ({servers_own})
"""
_TABLES = """
SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND TABLE_SCHEMA = DATABASE()
  AND LEFT(TABLE_NAME, 9) <> 'tidegate_'
ORDER BY 1, 2
"""


def spellings() -> Sql:
    """Return a query for every table that this login sees."""
    own = [Literal(name) for name in ("information_schema", "performance_schema", "mysql", "sys")]
    return sql(_SPELLINGS.strip(), servers_own=own)


def columns(names: Sequence[TableName]) -> Sql:
    return sql(_COLUMNS.strip(), names=_pairs(names))


def keys(names: Sequence[TableName]) -> Sql:
    return sql(_KEYS.strip(), names=_pairs(names))


def guards(names: Sequence[TableName]) -> Sql:
    return sql(_GUARDS.strip(), names=_pairs(names))


def last_change(table: TableName) -> Sql:
    """Return a query for the time of the table's last commit, and whether it tells: some time ago, and in InnoDB.

    The time has whole seconds and is that of the commit. It is null while nothing was changed since the start."""
    return sql(
        "SELECT COALESCE(UPDATE_TIME, 'never'),\n"
        "  ENGINE = 'InnoDB' AND COALESCE(UPDATE_TIME < NOW() - INTERVAL 2 SECOND, 1)\n"
        "FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table}",
        schema=Literal(table.schema),
        table=Literal(table.name),
    )


def tables() -> Sql:
    return sql(_TABLES.strip())


def views() -> Sql:
    return sql(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES\n"
        "WHERE TABLE_TYPE = 'VIEW' AND TABLE_SCHEMA = DATABASE() ORDER BY 1, 2"
    )


def columns_set_on_update(table: TableName) -> Sql:
    return sql(
        "SELECT c.COLUMN_NAME FROM information_schema.COLUMNS AS c\n"
        "WHERE (c.TABLE_SCHEMA, c.TABLE_NAME) IN ({name}) AND LOWER(c.EXTRA) LIKE '%on update current_timestamp%'",
        name=_pairs([table]),
    )


def _pairs(names: Sequence[TableName]) -> list[Sql]:
    return [sql("({schema}, {name})", schema=Literal(table.schema), name=Literal(table.name)) for table in names]


def table_schemas(columns: Iterable[Any], keys: Iterable[Any], guards: Iterable[Any]) -> dict[TableName, TableSchema]:
    """Return the schema of each table in the answers."""
    found: dict[TableName, dict[str, Any]] = {}
    for schema, table, estimate, engine, *column in columns:
        entry = found.setdefault(TableName(schema, table), {"columns": [], "keys": {}, "guards": {}})
        entry["row_estimate"], entry["engine"] = int(estimate), engine
        entry["columns"].append(_column(*column))
        entry["readable"] = entry.get("readable", False) or "select" in column[-1]
    for schema, table, *part in keys:
        if TableName(schema, table) in found:
            found[TableName(schema, table)]["keys"].setdefault(part[0], []).append(part)
    for schema, table, kind, name in guards:
        if TableName(schema, table) in found:
            found[TableName(schema, table)]["guards"].setdefault(kind, []).append(name)
    return {name: _schema(name, entry) for name, entry in found.items()}


def _schema(name: TableName, entry: dict[str, Any]) -> TableSchema:
    usable = {
        index: tuple(column for _, _, column, _ in parts)
        for index, parts in entry["keys"].items()
        if not any(is_unusable for *_, is_unusable in parts)
    }
    unique = {index for index, parts in entry["keys"].items() if not parts[0][1]}
    guards = {kind: tuple(found) for kind, found in entry["guards"].items()}
    return TableSchema(
        name=name,
        columns=tuple(entry["columns"]),
        primary_key=usable.get("PRIMARY", ()),
        unique_keys=tuple(usable[index] for index in usable if index in unique and index != "PRIMARY"),
        indexes=tuple(usable.values()),
        row_estimate=entry["row_estimate"],
        triggers=guards.get("triggers", ()),
        references=guards.get("references", ()),
        referenced_by=guards.get("referenced_by", ()),
        cascades_to=guards.get("cascades_to", ()),
        partitioned_by=", ".join(guards.get("partitioned_by", ())),
        transactional=entry["engine"].lower() in _TRANSACTIONAL,
        reads_consistently=entry["engine"].lower() in _TRANSACTIONAL,
        readable=entry["readable"],
    )


def _column(
    name: str,
    column_type: str,
    nullable: str,
    extra: str,
    has_default: int,
    generated: int,
    size: int | None,
    digits: int | None,
    scale: int | None,
    seconds: int | None,
    *rest: Any,
) -> Column:
    character_set, collation, commented, rights = rest
    column_type = _ESCAPED.sub(lambda found: _UNESCAPED.get(found[1], found[1]), column_type)
    type_ = logical_type(column_type, size, digits, scale, seconds)
    is_text = base_type(column_type) in _TEXTS and collation
    collated = f" CHARACTER SET {character_set} COLLATE {collation}" if is_text else ""
    # The catalog shows the texts of an enum in utf8mb3, with `?` for other characters: the real list is unknown then.
    unknown_list = type_.family == "enum" and "?" in column_type
    return Column(
        name=name,
        type=column_type + collated,
        portable_type=f"varchar({size})" + collated if unknown_list else "",
        storage_type=type_.storage_type,
        nullable=nullable == "YES",
        generated=bool(generated),
        identity="auto_increment" in extra.lower(),
        has_default=bool(has_default) or "auto_increment" in extra.lower(),
        logical_type=type_,
        database=KIND,
        collation=collation or "",
        has_extra_attributes=bool(commented) or "on update" in extra.lower(),
        unreadable="" if "select" in rights else "this login may not read it",
    )
