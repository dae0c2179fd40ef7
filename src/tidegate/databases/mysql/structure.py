"""Indexes, defaults and comments of MySQL, as its catalog has them.

Facts that shape this file
 * MariaDB's catalog has a default as an expression ('a', 1, current_timestamp()). MySQL's has the bare text of a
   literal.
 * An index over the beginnings of texts, or over an expression, is one of its own kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.model.names import TableName
from tidegate.model.structure import Index, Structure
from tidegate.sql.text import Literal, Sql, sql

_STRUCTURE = """
SELECT s.TABLE_SCHEMA, s.TABLE_NAME, 'index', s.INDEX_NAME, s.NON_UNIQUE,
       CASE WHEN s.INDEX_TYPE = 'BTREE' AND s.SUB_PART IS NULL THEN s.COLUMN_NAME END, s.SEQ_IN_INDEX
FROM information_schema.STATISTICS AS s
WHERE s.INDEX_NAME <> 'PRIMARY' AND (s.TABLE_SCHEMA, s.TABLE_NAME) IN ({names})
UNION ALL
SELECT c.TABLE_SCHEMA, c.TABLE_NAME, 'default', c.COLUMN_NAME, c.EXTRA LIKE '%DEFAULT_GENERATED%', c.COLUMN_DEFAULT, 0
FROM information_schema.COLUMNS AS c
WHERE c.COLUMN_DEFAULT IS NOT NULL AND c.COLUMN_DEFAULT <> 'NULL' AND (c.TABLE_SCHEMA, c.TABLE_NAME) IN ({names})
UNION ALL
SELECT c.TABLE_SCHEMA, c.TABLE_NAME, 'comment', c.COLUMN_NAME, 0, c.COLUMN_COMMENT, 0
FROM information_schema.COLUMNS AS c
WHERE c.COLUMN_COMMENT <> '' AND (c.TABLE_SCHEMA, c.TABLE_NAME) IN ({names})
UNION ALL
SELECT t.TABLE_SCHEMA, t.TABLE_NAME, 'comment', '', 0, t.TABLE_COMMENT, 0
FROM information_schema.TABLES AS t
WHERE t.TABLE_TYPE = 'BASE TABLE' AND t.TABLE_COMMENT <> '' AND (t.TABLE_SCHEMA, t.TABLE_NAME) IN ({names})
ORDER BY 1, 2, 3, 4, 7
"""


def structure(names: Sequence[TableName]) -> Sql:
    pairs = [sql("({schema}, {name})", schema=Literal(name.schema), name=Literal(name.name)) for name in names]
    return sql(_STRUCTURE.strip(), names=pairs)


def as_structures(rows: Iterable[Sequence[Any]], *, is_mariadb: bool) -> dict[TableName, Structure]:
    found: dict[TableName, dict[str, dict[str, Any]]] = {}
    for schema, table, kind, name, flag, text, _ in rows:
        entry = found.setdefault(TableName(str(schema), str(table)), {"index": {}, "default": {}, "comment": {}})
        if kind == "index":
            entry["index"].setdefault(str(name), []).append((int(str(flag)), text))
        elif kind == "default" and not is_mariadb and not int(str(flag)):
            entry["default"][str(name)] = "'" + str(text).replace("'", "''") + "'"
        else:
            entry[str(kind)][str(name)] = str(text)
    return {
        name: Structure(
            tuple(_index(index, parts) for index, parts in entry["index"].items()), entry["default"], entry["comment"]
        )
        for name, entry in found.items()
    }


def _index(name: str, parts: Sequence[tuple[int, object]]) -> Index:
    columns = tuple(str(column) for _, column in parts) if all(column is not None for _, column in parts) else ()
    return Index(name, columns, is_unique=not parts[0][0])
