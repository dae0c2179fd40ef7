"""What SQL Server's catalog says of a table and its partitions, as far as a switch depends on it.

Facts that shape this file
 * A stage is created on the same partition scheme as its target. So filegroups are equal by construction, no check of
   the range is needed, and a new boundary applies to both.
 * Every index of the target needs an identical one on the stage, with the same compression of each partition.
 * Only check constraints and foreign keys that are enabled and trusted count.
 * COLLATE is not allowed after an alias type, which has a collation of its own.
 * IDENTITY, defaults, triggers, statistics and names are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Sql, sql

_TABLE = """
SELECT ps.name, pf.name, pf.boundary_value_on_right, c.name, i.type_desc,
       t.temporal_type, t.is_tracked_by_cdc, t.is_replicated, t.is_merge_published,
       t.text_in_row_limit, t.large_value_types_out_of_row,
       CASE WHEN ct.object_id IS NULL THEN 0 ELSE 1 END, CASE WHEN ft.object_id IS NULL THEN 0 ELSE 1 END
FROM sys.tables AS t
JOIN sys.indexes AS i ON i.object_id = t.object_id AND i.index_id IN (0, 1)
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.partition_functions AS pf ON pf.function_id = ps.function_id
LEFT JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
LEFT JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
LEFT JOIN sys.change_tracking_tables AS ct ON ct.object_id = t.object_id
LEFT JOIN sys.fulltext_indexes AS ft ON ft.object_id = t.object_id
WHERE t.object_id = {table}
"""
_COLUMNS = """
SELECT c.name,
       CASE WHEN t.is_user_defined = 1 THEN QUOTENAME(SCHEMA_NAME(t.schema_id)) + N'.' + QUOTENAME(t.name)
            WHEN t.name IN (N'nvarchar', N'nchar') THEN t.name + N'('
                 + CASE c.max_length WHEN -1 THEN N'max' ELSE CONVERT(nvarchar(11), c.max_length / 2) END + N')'
            WHEN t.name IN (N'varchar', N'char', N'varbinary', N'binary') THEN t.name + N'('
                 + CASE c.max_length WHEN -1 THEN N'max' ELSE CONVERT(nvarchar(11), c.max_length) END + N')'
            WHEN t.name IN (N'decimal', N'numeric') THEN t.name + N'(' + CONVERT(nvarchar(11), c.precision) + N', '
                 + CONVERT(nvarchar(11), c.scale) + N')'
            WHEN t.name IN (N'datetime2', N'datetimeoffset', N'time')
            THEN t.name + N'(' + CONVERT(nvarchar(11), c.scale) + N')'
            WHEN t.name = N'xml' AND c.xml_collection_id <> 0
            THEN N'xml(' + CASE c.is_xml_document WHEN 1 THEN N'DOCUMENT ' ELSE N'CONTENT ' END
                 + QUOTENAME(SCHEMA_NAME(x.schema_id)) + N'.' + QUOTENAME(x.name) + N')'
            ELSE t.name END,
       CASE WHEN t.is_user_defined = 0 THEN c.collation_name END, c.is_nullable, k.definition, k.is_persisted,
       c.is_rowguidcol, c.is_sparse, c.is_column_set, c.is_filestream, c.is_ansi_padded, c.generated_always_type
FROM sys.columns AS c
JOIN sys.types AS t ON t.user_type_id = c.user_type_id
LEFT JOIN sys.computed_columns AS k ON k.object_id = c.object_id AND k.column_id = c.column_id
LEFT JOIN sys.xml_schema_collections AS x ON x.xml_collection_id = c.xml_collection_id AND c.xml_collection_id <> 0
WHERE c.object_id = {table}
ORDER BY c.column_id
"""
_INDEXES = """
SELECT i.index_id, COALESCE(i.name, N''), i.type_desc, i.is_primary_key, i.is_unique_constraint, i.is_unique,
       CASE WHEN i.has_filter = 1 THEN i.filter_definition END, i.is_disabled, ps.name, pc.name
FROM sys.indexes AS i
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
LEFT JOIN sys.columns AS pc ON pc.object_id = ic.object_id AND pc.column_id = ic.column_id
WHERE i.object_id = {table} AND i.index_id > 0 AND i.is_hypothetical = 0
ORDER BY i.index_id
"""
_INDEX_COLUMNS = """
SELECT ic.index_id, c.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column
FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE ic.object_id = {table} AND (ic.key_ordinal > 0 OR ic.is_included_column = 1)
ORDER BY ic.index_id, ic.is_included_column, ic.key_ordinal, ic.index_column_id
"""
_COMPRESSION = """
SELECT p.index_id, p.partition_number, p.data_compression_desc
FROM sys.partitions AS p WHERE p.object_id = {table} ORDER BY p.index_id, p.partition_number
"""
_CHECKS = """
SELECT k.name, k.definition, k.is_disabled, k.is_not_trusted
FROM sys.check_constraints AS k WHERE k.parent_object_id = {table} ORDER BY k.name
"""
_KEYS = """
SELECT f.name,
       QUOTENAME(OBJECT_SCHEMA_NAME(f.referenced_object_id)) + N'.' + QUOTENAME(OBJECT_NAME(f.referenced_object_id)),
       a.name, b.name, f.delete_referential_action_desc, f.update_referential_action_desc,
       f.is_disabled, f.is_not_trusted
FROM sys.foreign_keys AS f
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS a ON a.object_id = k.parent_object_id AND a.column_id = k.parent_column_id
JOIN sys.columns AS b ON b.object_id = k.referenced_object_id AND b.column_id = k.referenced_column_id
WHERE f.parent_object_id = {table}
ORDER BY f.name, k.constraint_column_id
"""
_REFERENCES = """
SELECT f.name, COALESCE(QUOTENAME(OBJECT_SCHEMA_NAME(f.parent_object_id)) + N'.'
       + QUOTENAME(OBJECT_NAME(f.parent_object_id)), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.referenced_object_id = {table} ORDER BY f.name
"""
_VIEWS = """
SELECT QUOTENAME(SCHEMA_NAME(v.schema_id)) + N'.' + QUOTENAME(v.name), i.name
FROM sys.sql_expression_dependencies AS d
JOIN sys.views AS v ON v.object_id = d.referencing_id
JOIN sys.indexes AS i ON i.object_id = v.object_id AND i.index_id = 1
WHERE d.referenced_id = {table} AND d.referenced_class = 1
"""
_CAPTURES = """
SELECT c.capture_instance FROM cdc.change_tables AS c WHERE c.source_object_id = {table} AND c.partition_switch = 0
"""


@dataclass(frozen=True)
class ColumnFacts:
    """A column as DDL declares it."""

    name: str
    type: str
    collation: str = ""
    nullable: bool = True
    computed: str = ""
    persisted: bool = False
    row_guid: bool = False
    sparse: bool = False
    column_set: bool = False
    filestream: bool = False
    ansi_padded: bool = True
    generated_always: int = 0


@dataclass(frozen=True)
class IndexFacts:
    """An index. `columns` are names of the key, each with whether it is descending."""

    name: str
    type: str
    columns: tuple[tuple[str, bool], ...] = ()
    included: tuple[str, ...] = ()
    is_primary: bool = False
    is_constraint: bool = False
    is_unique: bool = False
    filter: str = ""
    is_disabled: bool = False
    scheme: str = ""
    partitioned_by: str = ""
    compression: tuple[str, ...] = ()
    """The compression of each partition, in their order."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Return what a switch compares: everything but the name."""
        return (self.type, self.columns, tuple(sorted(self.included)), self.is_unique, self.filter)


@dataclass(frozen=True)
class ForeignKeyFacts:
    """A foreign key of the table, column by column."""

    name: str
    table: str
    columns: tuple[tuple[str, str], ...]
    on_delete: str = "NO_ACTION"
    on_update: str = "NO_ACTION"
    is_trusted: bool = True

    @property
    def shape(self) -> tuple[Any, ...]:
        return (self.table, self.columns, self.on_delete, self.on_update)


@dataclass(frozen=True)
class TableFacts:
    """Everything about a table that can forbid a switch."""

    name: TableName
    columns: tuple[ColumnFacts, ...]
    scheme: str = ""
    function: str = ""
    is_right: bool = True
    partitioned_by: str = ""
    indexes: tuple[IndexFacts, ...] = ()
    compression: tuple[str, ...] = ()
    checks: tuple[tuple[str, str, bool], ...] = ()
    """Name and definition of each check constraint, and whether it is enabled and trusted."""
    foreign_keys: tuple[ForeignKeyFacts, ...] = ()
    referenced_by: tuple[tuple[str, str], ...] = ()
    """Name and table of each foreign key that refers to the table."""
    indexed_views: tuple[tuple[str, str], ...] = ()
    """Indexed views of the table, and their clustered indexes."""
    temporal: int = 0
    captures: tuple[str, ...] = ()
    """CDC captures that do not allow switches."""
    is_replicated: bool = False
    is_merge_published: bool = False
    text_in_row: int = 0
    large_values_out_of_row: bool = False
    is_tracked: bool = False
    has_full_text: bool = False

    @property
    def clustered(self) -> IndexFacts | None:
        return next((index for index in self.indexes if index.type.startswith("CLUSTERED")), None)


def questions(table: int, *, dependencies: bool, captures: bool) -> dict[str, Sql]:
    """Return the questions about a table, by its object_id. What this login may not ask is left out."""
    texts = {
        "table": _TABLE,
        "columns": _COLUMNS,
        "indexes": _INDEXES,
        "index columns": _INDEX_COLUMNS,
        "compression": _COMPRESSION,
        "checks": _CHECKS,
        "keys": _KEYS,
        "references": _REFERENCES,
        **({"views": _VIEWS} if dependencies else {}),
        **({"captures": _CAPTURES} if captures else {}),
    }
    return {name: sql(text.strip(), table=Literal(table)) for name, text in texts.items()}


def table_facts(name: TableName, answers: dict[str, Sequence[Any]]) -> TableFacts:
    """Return the facts from the answers to `questions`."""
    [table] = answers["table"]
    scheme, function, is_right, column, _, temporal, _, replicated, merged, in_row, out_of_row, tracked, searched = (
        table
    )
    compression: dict[int, list[str]] = {}
    for index, _, description in answers["compression"]:
        compression.setdefault(int(index), []).append(str(description))
    return TableFacts(
        name=name,
        columns=tuple(_column(row) for row in answers["columns"]),
        scheme=str(scheme or ""),
        function=str(function or ""),
        is_right=bool(is_right),
        partitioned_by=str(column or ""),
        indexes=tuple(_index(row, answers["index columns"], compression) for row in answers["indexes"]),
        compression=tuple(compression.get(0) or compression.get(1) or ()),
        checks=tuple((str(key), str(text), not off and not weak) for key, text, off, weak in answers["checks"]),
        foreign_keys=tuple(_foreign_keys(answers["keys"])),
        referenced_by=tuple((str(key), str(other)) for key, other in answers["references"]),
        indexed_views=tuple((str(view), str(index)) for view, index in answers.get("views", ())),
        temporal=int(temporal or 0),
        captures=tuple(str(row[0]) for row in answers.get("captures", ())),
        is_replicated=bool(replicated),
        is_merge_published=bool(merged),
        text_in_row=int(in_row or 0),
        large_values_out_of_row=bool(out_of_row),
        is_tracked=bool(tracked),
        has_full_text=bool(searched),
    )


def _column(row: Sequence[Any]) -> ColumnFacts:
    name, kind, collation, nullable, computed, persisted, guid, sparse, column_set, stream, padded, always = row
    return ColumnFacts(
        str(name),
        str(kind),
        str(collation or ""),
        bool(nullable),
        str(computed or ""),
        bool(persisted),
        bool(guid),
        bool(sparse),
        bool(column_set),
        bool(stream),
        bool(padded),
        int(always or 0),
    )


def _index(row: Sequence[Any], columns: Iterable[Any], compression: dict[int, list[str]]) -> IndexFacts:
    number, name, kind, primary, constraint, unique, condition, disabled, scheme, by = row
    own = [each for each in columns if each[0] == number]
    return IndexFacts(
        name=str(name),
        type=str(kind),
        columns=tuple((str(column), bool(down)) for _, column, place, down, _ in own if place),
        included=tuple(str(column) for _, column, place, _, included in own if included and not place),
        is_primary=bool(primary),
        is_constraint=bool(constraint),
        is_unique=bool(unique),
        filter=str(condition or ""),
        is_disabled=bool(disabled),
        scheme=str(scheme or ""),
        partitioned_by=str(by or ""),
        compression=tuple(compression.get(int(number), ())),
    )


def _foreign_keys(rows: Iterable[Any]) -> Iterable[ForeignKeyFacts]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(str(row[0]), []).append(row)
    for name, parts in found.items():
        _, table, _, _, on_delete, on_update, off, weak = parts[0]
        columns = tuple((str(part[2]), str(part[3])) for part in parts)
        yield ForeignKeyFacts(name, str(table), columns, str(on_delete), str(on_update), not off and not weak)


Ask = Callable[[Sql], Sequence[Any]]
