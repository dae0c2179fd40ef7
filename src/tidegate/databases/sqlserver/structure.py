"""Indexes, defaults and comments of SQL Server, as its catalog has them.

Facts that shape this file
 * Comments are extended properties named MS_Description, by convention. Their value is a sql_variant of 7,500 bytes at
   most, which nvarchar fills with 3,750 UTF-16 units.
 * An included column has key_ordinal 0. So has the partitioning column of an index that does not name it; that one is
   not included.
 * Columnstore, XML and spatial indexes (type 3 and up) have DDL of their own, and so have hash indexes in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.model.names import TableName
from tidegate.model.structure import Index, Structure
from tidegate.sql.text import Literal, Name, Sql, raw, render, sql

_COMMENT, _LONGEST_COMMENT = "MS_Description", 3750
_INDEXES = """
SELECT s.name, t.name, i.name, CONVERT(int, i.type), CONVERT(int, i.is_unique), i.filter_definition, c.name,
       CONVERT(int, ic.is_descending_key), CONVERT(int, ic.is_included_column)
FROM sys.indexes AS i
JOIN sys.tables AS t ON t.object_id = i.object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
  AND (ic.key_ordinal > 0 OR ic.is_included_column = 1)
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.is_primary_key = 0 AND i.is_disabled = 0 AND i.is_hypothetical = 0 AND i.name IS NOT NULL AND ({names})
ORDER BY s.name, t.name, i.name, ic.is_included_column, ic.key_ordinal, ic.index_column_id
"""
_TEXTS = """
SELECT s.name, t.name, 'default', c.name, d.definition
FROM sys.default_constraints AS d
JOIN sys.tables AS t ON t.object_id = d.parent_object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.columns AS c ON c.object_id = d.parent_object_id AND c.column_id = d.parent_column_id
WHERE {names}
UNION ALL
SELECT s.name, t.name, 'comment', COALESCE(c.name, N''), CONVERT(nvarchar(3750), p.value)
FROM sys.extended_properties AS p
JOIN sys.tables AS t ON t.object_id = p.major_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
LEFT JOIN sys.columns AS c ON c.object_id = p.major_id AND c.column_id = p.minor_id AND p.minor_id > 0
WHERE p.class = 1 AND p.name = 'MS_Description' AND ({names})
"""


def questions(tables: Sequence[TableName]) -> tuple[Sql, Sql]:
    """Return the queries for the indexes, and for defaults and comments."""
    asked: Sql | None = None
    for table in tables:
        one = sql("(s.name = {schema} AND t.name = {name})", schema=Literal(table.schema), name=Literal(table.name))
        asked = one if asked is None else sql("{asked} OR {one}", asked=asked, one=one)
    names = asked or sql("1 = 0")
    return sql(_INDEXES.strip(), names=names), sql(_TEXTS.strip(), names=names)


def as_structures(indexes: Iterable[Sequence[Any]], texts: Iterable[Sequence[Any]]) -> dict[TableName, Structure]:
    grouped: dict[tuple[TableName, str], list[Sequence[Any]]] = {}
    for row in indexes:
        grouped.setdefault((TableName(str(row[0]), str(row[1])), str(row[2])), []).append(row)
    found: dict[TableName, Structure] = {}
    for (table, _), rows in grouped.items():
        known = found.get(table, Structure())
        found[table] = Structure((*known.indexes, _index(rows)))
    written: dict[TableName, dict[str, dict[str, str]]] = {}
    for schema, name, kind, column, text in texts:
        entry = written.setdefault(TableName(str(schema), str(name)), {"default": {}, "comment": {}})
        if text is not None:  # a login without VIEW DEFINITION does not see it
            entry[str(kind)][str(column)] = str(text)
    for table, entry in written.items():
        found[table] = Structure(found.get(table, Structure()).indexes, entry["default"], entry["comment"])
    return found


def _index(rows: Sequence[Sequence[Any]]) -> Index:
    _, _, name, kind, is_unique, condition, *_ = rows[0]
    if int(kind) > 2:
        return Index(str(name), ())
    keys = [row for row in rows if not row[8]]
    included = [_quoted(row[6]) for row in rows if row[8]]
    definition = f"({', '.join(_quoted(row[6]) + (' DESC' if row[7] else '') for row in keys)})"
    definition += f" INCLUDE ({', '.join(included)})" if included else ""
    definition += f" WHERE {condition}" if condition else ""
    columns = () if condition or included else tuple(str(row[6]) for row in keys)
    return Index(str(name), columns, bool(is_unique), definition)


def _quoted(name: object) -> str:
    return render(Name.of(str(name)), DIALECT)


def comment(table: TableName, column: str, text: str) -> Sql | None:
    """Return the statement that writes the comment of a column or a table; None for a text that is too long."""
    if len(text.encode("utf-16-le")) > _LONGEST_COMMENT * 2:
        return None
    place = [
        ("@level0type", "SCHEMA", "@level0name", table.schema),
        ("@level1type", "TABLE", "@level1name", table.name),
    ]
    place += [("@level2type", "COLUMN", "@level2name", column)] if column else []
    levels = [
        sql(
            "{kind} = {word}, {name} = {value}",
            kind=raw(kind),
            word=Literal(word),
            name=raw(name),
            value=Literal(value),
        )
        for kind, word, name, value in place
    ]
    number = sql(
        "COLUMNPROPERTY(OBJECT_ID({table}), {column}, 'ColumnId')",
        table=Literal(render(Name.of(table), DIALECT)),
        column=Literal(column),
    )
    return sql(
        "IF EXISTS (SELECT 1 FROM sys.extended_properties AS p WHERE p.class = 1 AND p.name = {kind}"
        " AND p.major_id = OBJECT_ID({table}) AND p.minor_id = {number})\n"
        "EXEC sys.sp_updateextendedproperty @name = {kind}, @value = {text}, {levels}\n"
        "ELSE EXEC sys.sp_addextendedproperty @name = {kind}, @value = {text}, {levels}",
        kind=Literal(_COMMENT),
        table=Literal(render(Name.of(table), DIALECT)),
        number=number if column else raw("0"),
        text=Literal(text),
        levels=levels,
    )
