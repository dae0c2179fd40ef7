"""Everything that SQL Server's catalog knows about one table, for `tidegate describe`. Plans do not use it.

Facts that shape this file
 * A definition is null for a login that may not see it. It is shown as (hidden), to tell it from "no definition".
 * Names of hidden objects are null as well, and so are the numbers of statistics.
 * The partitioning column of an index that does not name it is listed with key_ordinal 0, and is no included column.
   All columns of a columnstore index are listed as included.
 * Sizes and the time of the last change need VIEW DATABASE STATE or VIEW SERVER STATE. The time is lost at every
   restart. They are hints, not proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tidegate.databases.sqlserver.layout import NOT_ALIGNED, bound
from tidegate.databases.sqlserver.server import ServerFeatures
from tidegate.errors import DatabaseError, Transient
from tidegate.model.description import Section
from tidegate.sql.text import Literal, Part, Sql, sql


@dataclass(frozen=True)
class Question:
    """The query of one section. The first columns of the answer have headings; each further column has a label.

    A label with braces shows the value unless it is null. A label without braces is shown if the value is true."""

    title: str
    headings: tuple[str, ...]
    labels: tuple[str, ...]
    text: str

    def of(self, table: int) -> Sql:
        number = Literal(table)
        holes: dict[str, Part | list[Part]] = {
            "table": number,
            "tables": [number],
            "low": bound("low"),
            "high": bound("high"),
        }
        return sql(self.text.strip(), **{name: hole for name, hole in holes.items() if f"{{{name}}}" in self.text})

    def section(self, rows: list[Any]) -> Section:
        headings = (*self.headings, "") if self.labels else self.headings
        return Section(self.title, headings, tuple(tuple(self._row(row)) for row in rows))

    def _row(self, row: Any) -> Iterator[str]:
        shown = len(self.headings)
        yield from ("" if value is None else str(value) for value in row[:shown])
        if self.labels:
            labelled = zip(self.labels, row[shown:], strict=True)
            yield ", ".join(label.format(value) for label, value in labelled if value not in (None, "", False))


_COLUMNS = Question(
    "columns as declared",
    ("column", "declared as"),
    (
        "of schema {}",
        "of xml collection {}",
        "in schema {}",
        "whole documents",
        "identity from {}",
        "by {}",
        "now at {}",
        "computed: {}",
        "persisted",
        "default {}",
        "= {}",
        "rule {}",
        "row guid",
        "sparse",
        "column set",
        "filestream",
        "hidden",
        "masked",
        "encrypted",
        "generated: {}",
        "not padded",
    ),
    """
SELECT c.name, COALESCE(t.name, N'(hidden)'), CASE WHEN t.is_user_defined = 1 THEN SCHEMA_NAME(t.schema_id) END,
       CASE WHEN c.xml_collection_id <> 0 THEN COALESCE(x.name, N'(hidden)') END, SCHEMA_NAME(x.schema_id),
       c.is_xml_document,
       CONVERT(nvarchar(40), CONVERT(decimal(38, 0), i.seed_value)),
       CONVERT(nvarchar(40), CONVERT(decimal(38, 0), i.increment_value)),
       CONVERT(nvarchar(40), CONVERT(decimal(38, 0), i.last_value)),
       CASE WHEN c.is_computed = 1 THEN COALESCE(k.definition, N'(hidden)') END, k.is_persisted,
       CASE WHEN c.default_object_id <> 0 THEN COALESCE(d.name, OBJECT_NAME(c.default_object_id), N'(hidden)') END,
       CASE WHEN c.default_object_id <> 0
            THEN COALESCE(d.definition, OBJECT_DEFINITION(c.default_object_id), N'(hidden)') END,
       CASE WHEN c.rule_object_id <> 0 THEN COALESCE(OBJECT_NAME(c.rule_object_id), N'(hidden)') END,
       c.is_rowguidcol, c.is_sparse, c.is_column_set, c.is_filestream, c.is_hidden, c.is_masked,
       CASE WHEN c.encryption_type IS NOT NULL THEN 1 ELSE 0 END,
       CASE WHEN c.generated_always_type <> 0 THEN c.generated_always_type_desc END,
       CASE WHEN c.is_ansi_padded = 0 AND t.name IN (N'char', N'varchar', N'binary', N'varbinary') THEN 1 ELSE 0 END
FROM sys.columns AS c
LEFT JOIN sys.types AS t ON t.user_type_id = c.user_type_id
LEFT JOIN sys.identity_columns AS i ON i.object_id = c.object_id AND i.column_id = c.column_id
LEFT JOIN sys.computed_columns AS k ON k.object_id = c.object_id AND k.column_id = c.column_id
LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
LEFT JOIN sys.xml_schema_collections AS x ON x.xml_collection_id = c.xml_collection_id AND c.xml_collection_id <> 0
WHERE c.object_id = {table}
ORDER BY c.column_id
""",
)
_INDEXES = Question(
    "indexes",
    ("index", "type", "lies in"),
    (
        "primary key",
        "unique constraint",
        "unique",
        "where {}",
        "disabled",
        "ignores duplicates",
        "filled to {} percent",
        "padded",
    ),
    """
SELECT COALESCE(i.name, N''), i.type_desc, s.name, i.is_primary_key, i.is_unique_constraint, i.is_unique,
       CASE WHEN i.has_filter = 1 THEN COALESCE(i.filter_definition, N'(hidden)') END,
       i.is_disabled, i.ignore_dup_key, CASE WHEN i.fill_factor <> 0 THEN i.fill_factor END, i.is_padded
FROM sys.indexes AS i LEFT JOIN sys.data_spaces AS s ON s.data_space_id = i.data_space_id
WHERE i.object_id = {table} AND i.is_hypothetical = 0
ORDER BY i.index_id
""",
)
_INDEX_COLUMNS = Question(
    "columns of indexes",
    ("index", "column"),
    ("{}. of the key", "descending", "included", "partitions it"),
    """
SELECT i.name, c.name, CASE WHEN ic.key_ordinal > 0 THEN ic.key_ordinal END, ic.is_descending_key,
       CASE WHEN ic.is_included_column = 1 AND i.type NOT IN (5, 6) THEN 1 ELSE 0 END,
       CASE WHEN ic.partition_ordinal > 0 THEN 1 ELSE 0 END
FROM sys.indexes AS i
JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id = {table} AND i.is_hypothetical = 0
ORDER BY i.index_id, ic.is_included_column, ic.key_ordinal, ic.index_column_id
""",
)
_FUNCTION = Question(
    "how it is partitioned",
    ("scheme", "function", "column", "type"),
    ("RANGE {}", "{} partitions", "of {} bytes", "precision {}", "scale {}", "collation {}", "next used: {}"),
    """
SELECT ps.name, pf.name, c.name, t.name, CASE pf.boundary_value_on_right WHEN 1 THEN N'RIGHT' ELSE N'LEFT' END,
       pf.fanout, pp.max_length, CASE WHEN pp.precision <> 0 THEN pp.precision END,
       CASE WHEN pp.scale <> 0 THEN pp.scale END, pp.collation_name, n.name
FROM sys.indexes AS i
JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
JOIN sys.partition_functions AS pf ON pf.function_id = ps.function_id
LEFT JOIN sys.partition_parameters AS pp ON pp.function_id = pf.function_id AND pp.parameter_id = 1
LEFT JOIN sys.types AS t ON t.user_type_id = pp.user_type_id
LEFT JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
LEFT JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
LEFT JOIN sys.destination_data_spaces AS d
  ON d.partition_scheme_id = ps.data_space_id AND d.destination_id = pf.fanout + 1
LEFT JOIN sys.data_spaces AS n ON n.data_space_id = d.data_space_id
WHERE i.object_id = {table} AND i.index_id IN (0, 1)
""",
)
_BOUNDS = Question(
    "its partitions",
    ("partition", "from", "to", "rows, about", "compression", "filegroup"),
    ("read-only",),
    """
SELECT p.partition_number,
       {low},
       {high},
       p.rows, p.data_compression_desc, fg.name, fg.is_read_only
FROM sys.indexes AS i
JOIN sys.partitions AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.destination_data_spaces AS d
  ON d.partition_scheme_id = ps.data_space_id AND d.destination_id = p.partition_number
LEFT JOIN sys.filegroups AS fg ON fg.data_space_id = d.data_space_id
LEFT JOIN sys.partition_range_values AS low
  ON low.function_id = ps.function_id AND low.boundary_id = p.partition_number - 1
LEFT JOIN sys.partition_range_values AS high
  ON high.function_id = ps.function_id AND high.boundary_id = p.partition_number
WHERE i.object_id = {table} AND i.index_id IN (0, 1)
ORDER BY p.partition_number
""",
)
_COMPRESSION = Question(
    "rows and compression of indexes",
    ("index", "partition", "rows, about", "compression"),
    (),
    """
SELECT COALESCE(i.name, N'(heap)'), p.partition_number, p.rows, p.data_compression_desc
FROM sys.indexes AS i JOIN sys.partitions AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
WHERE i.object_id = {table}
ORDER BY i.index_id, p.partition_number
""",
)
_NOT_ALIGNED = Question(
    "indexes that may keep partitions from being switched", ("index", "lies in"), ("of object {}",), NOT_ALIGNED
)
_CHECKS = Question(
    "check constraints",
    ("constraint", "definition"),
    ("of column {}", "disabled", "not trusted", "not for replication", "by the collation of the database"),
    """
SELECT k.name, COALESCE(k.definition, N'(hidden)'), c.name, k.is_disabled, k.is_not_trusted, k.is_not_for_replication,
       k.uses_database_collation
FROM sys.check_constraints AS k
LEFT JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id
WHERE k.parent_object_id = {table}
ORDER BY k.name
""",
)
_FOREIGN_KEYS = Question(
    "foreign keys, from it and to it",
    ("constraint", "from schema", "table", "column", "to schema", "table", "column"),
    ("on delete {}", "on update {}", "disabled", "not trusted"),
    """
SELECT f.name,
       COALESCE(OBJECT_SCHEMA_NAME(f.parent_object_id), N'(hidden)'),
       COALESCE(OBJECT_NAME(f.parent_object_id), N'(hidden)'), COALESCE(a.name, N'(hidden)'),
       COALESCE(OBJECT_SCHEMA_NAME(f.referenced_object_id), N'(hidden)'),
       COALESCE(OBJECT_NAME(f.referenced_object_id), N'(hidden)'), COALESCE(b.name, N'(hidden)'),
       CASE WHEN f.delete_referential_action <> 0 THEN f.delete_referential_action_desc END,
       CASE WHEN f.update_referential_action <> 0 THEN f.update_referential_action_desc END,
       f.is_disabled, f.is_not_trusted
FROM sys.foreign_keys AS f
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
LEFT JOIN sys.columns AS a ON a.object_id = k.parent_object_id AND a.column_id = k.parent_column_id
LEFT JOIN sys.columns AS b ON b.object_id = k.referenced_object_id AND b.column_id = k.referenced_column_id
WHERE f.parent_object_id = {table} OR f.referenced_object_id = {table}
ORDER BY f.name, k.constraint_column_id
""",
)
_TRIGGERS = Question(
    "triggers",
    ("trigger", "at"),
    ("instead of the statement", "disabled"),
    """
SELECT t.name, e.type_desc, t.is_instead_of_trigger, t.is_disabled
FROM sys.triggers AS t JOIN sys.trigger_events AS e ON e.object_id = t.object_id
WHERE t.parent_id = {table}
ORDER BY t.name, e.type
""",
)
_BOUND_VIEWS = Question(
    "views that are bound to it",
    ("schema", "view"),
    ("indexed",),
    """
SELECT DISTINCT SCHEMA_NAME(v.schema_id), v.name, CASE WHEN i.object_id IS NULL THEN 0 ELSE 1 END
FROM sys.sql_expression_dependencies AS d
JOIN sys.views AS v ON v.object_id = d.referencing_id
JOIN sys.sql_modules AS m ON m.object_id = v.object_id AND m.is_schema_bound = 1
LEFT JOIN sys.indexes AS i ON i.object_id = v.object_id AND i.index_id = 1
WHERE d.referenced_id = {table} AND d.referenced_class = 1
ORDER BY 1, 2
""",
)
_FEATURES = Question(
    "what it takes part in",
    ("keeps history", "lock escalation"),
    (
        "history in schema {}",
        "table {}",
        "captured (CDC)",
        "its captures hidden from this login",
        "replicated",
        "merge-published",
        "in memory",
        "external",
        "file table",
        "text in row up to {} bytes",
        "long values out of row",
        "long values in {}",
        "full-text index",
    ),
    """
SELECT t.temporal_type_desc, t.lock_escalation_desc, OBJECT_SCHEMA_NAME(t.history_table_id),
       CASE WHEN t.history_table_id IS NOT NULL THEN COALESCE(OBJECT_NAME(t.history_table_id), N'(hidden)') END,
       t.is_tracked_by_cdc,
       CASE WHEN t.is_tracked_by_cdc = 1
             AND COALESCE(HAS_PERMS_BY_NAME(N'cdc.change_tables', 'OBJECT', 'SELECT'), 0) = 0 THEN 1 ELSE 0 END,
       t.is_replicated, t.is_merge_published,
       t.is_memory_optimized, t.is_external, t.is_filetable,
       CASE WHEN t.text_in_row_limit <> 0 THEN t.text_in_row_limit END, t.large_value_types_out_of_row, s.name,
       CASE WHEN f.object_id IS NULL THEN 0 ELSE 1 END
FROM sys.tables AS t
LEFT JOIN sys.data_spaces AS s ON s.data_space_id = t.lob_data_space_id
LEFT JOIN sys.fulltext_indexes AS f ON f.object_id = t.object_id
WHERE t.object_id = {table}
""",
)
_PERIOD = Question(
    "the period of its rows",
    ("from", "to"),
    (),
    """
SELECT a.name, b.name
FROM sys.periods AS p
JOIN sys.columns AS a ON a.object_id = p.object_id AND a.column_id = p.start_column_id
JOIN sys.columns AS b ON b.object_id = p.object_id AND b.column_id = p.end_column_id
WHERE p.object_id = {table}
""",
)
_TRACKING = Question(
    "Change Tracking",
    ("from version", "cleaned up to", "valid from"),
    ("tells columns",),
    """
SELECT t.begin_version, t.cleanup_version, t.min_valid_version, t.is_track_columns_updated_on
FROM sys.change_tracking_tables AS t WHERE t.object_id = {table}
""",
)
_CAPTURES = Question(
    "captures (CDC)",
    ("capture", "from position"),
    ("tells net changes", "about to be dropped", "role {}", "by index {}", "keeps partitions from being switched"),
    """
SELECT c.capture_instance, CONVERT(nvarchar(22), c.start_lsn, 1), c.supports_net_changes, c.has_drop_pending,
       c.role_name, c.index_name, CASE WHEN c.partition_switch = 0 THEN 1 ELSE 0 END
FROM cdc.change_tables AS c WHERE c.source_object_id = {table}
ORDER BY c.capture_instance
""",
)
_DATABASE = Question(
    "its database",
    ("database", "version", "edition", "compatibility", "collation", "recovery"),
    (
        "snapshot isolation {}",
        "readers see the last commit",
        "captures changes (CDC)",
        "tracks changes, kept for {}",
        "read-only",
        "{}",
    ),
    """
SELECT b.name, CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')),
       CASE CONVERT(int, SERVERPROPERTY('EngineEdition')) WHEN 5 THEN N'Azure SQL Database'
            WHEN 8 THEN N'Azure SQL Managed Instance' WHEN 12 THEN N'SQL database in Fabric'
            ELSE CONVERT(nvarchar(128), SERVERPROPERTY('Edition')) END, b.compatibility_level, b.collation_name,
       b.recovery_model_desc, b.snapshot_isolation_state_desc, b.is_read_committed_snapshot_on, b.is_cdc_enabled,
       CASE WHEN t.is_auto_cleanup_on = 1
            THEN CONVERT(nvarchar(11), t.retention_period) + N' ' + t.retention_period_units_desc
            WHEN t.database_id IS NOT NULL THEN N'ever' END,
       b.is_read_only, CONVERT(nvarchar(128), DATABASEPROPERTYEX(b.name, 'Updateability'))
FROM sys.databases AS b LEFT JOIN sys.change_tracking_databases AS t ON t.database_id = DB_ID()
WHERE b.name = DB_NAME()
""",
)
_SIZE = Question(
    "its size",
    ("rows, about", "KiB with indexes"),
    (),
    """
SELECT SUM(CASE WHEN s.index_id IN (0, 1) THEN s.row_count ELSE 0 END), SUM(s.reserved_page_count) * 8
FROM sys.dm_db_partition_stats AS s WHERE s.object_id = {table}
""",
)
_CHANGED = Question(
    "when it was last written to, since the server started",
    ("at, by the server's clock",),
    (),
    """
SELECT CONVERT(nvarchar(30), MAX(u.last_user_update), 126)
FROM sys.dm_db_index_usage_stats AS u
WHERE u.database_id = DB_ID() AND u.object_id = {table} AND u.index_id IN (0, 1)
""",
)
_STATISTICS = Question(
    "statistics",
    ("statistics", "of, by the server's clock", "rows", "changes since then"),
    (),
    """
SELECT s.name, CONVERT(nvarchar(30), p.last_updated, 126), p.rows, p.modification_counter
FROM sys.stats AS s OUTER APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) AS p
WHERE s.object_id = {table}
ORDER BY s.stats_id
""",
)


QUESTIONS = (
    *(_COLUMNS, _INDEXES, _INDEX_COLUMNS, _FUNCTION, _BOUNDS, _COMPRESSION, _NOT_ALIGNED, _CHECKS, _FOREIGN_KEYS),
    *(_TRIGGERS, _BOUND_VIEWS, _FEATURES, _PERIOD, _TRACKING, _CAPTURES, _DATABASE, _SIZE, _CHANGED, _STATISTICS),
)
_MISSING_RIGHT = "this needs SELECT on sys.sql_expression_dependencies and VIEW DEFINITION on the database"


def sections(query: Callable[[Sql], list[Any]], table: int, features: ServerFeatures) -> list[Section]:
    """Return the sections that have rows, and those that the server refused, with the reason."""
    found = [_section(query, table, question, features) for question in QUESTIONS]
    return [section for section in found if section.rows or section.problem]


def _section(query: Callable[[Sql], list[Any]], table: int, question: Question, features: ServerFeatures) -> Section:
    if question is _CAPTURES and not features.captures:  # without CDC the table does not exist
        return Section(question.title, question.headings)
    if question is _BOUND_VIEWS and not features.dependencies:
        return Section(question.title, question.headings, problem=_MISSING_RIGHT)
    try:
        rows = query(question.of(table))
    except Transient:
        raise
    except DatabaseError as problem:
        return Section(question.title, question.headings, problem=problem.happened)
    return question.section([row for row in rows if any(value is not None for value in row)])
