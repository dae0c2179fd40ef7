"""Queries of SQL Server's catalog, and table schemas from their answers.

Facts that shape this file
 * Catalog views show only what the login may see; the rest is missing, without an error. HAS_PERMS_BY_NAME tells
   whether a table may be read. A login with some right on a table sees its columns, keys and triggers. A foreign key of
   another table is hidden with that table, unless the login has VIEW DEFINITION on the database.
 * sys.partitions has row counts without reading rows. They are approximate.
 * A filtered, disabled or columnstore index cannot find the next greater value of its first column.
 * In sys.types a vector looks like a varbinary, as an alias type looks like its base type. Only user_type_id tells.
 * sys.sql_expression_dependencies is an error, not empty, for a login without the right.
 * A column set shows the sparse columns of its table again, as xml. It cannot be written together with them.
 * The partitioning column of an index that does not name it is listed with key_ordinal 0.
 * A compatible server has lower-case names in sys.*, and names as written in INFORMATION_SCHEMA.
 * A security policy with a filter hides rows without an error. A login without VIEW DEFINITION on the policy does not
   see the policy either.
 * MIN_ACTIVE_ROWVERSION() knows the transactions of its own server. On a replica, those of the primary are missing.
 * A memory-optimized table cannot be read at isolation level SNAPSHOT.
 * Definitions of check constraints and filters are null for logins that may not see them.
 * The list of CDC captures exists only if CDC is on, few logins may read it, and its texts are in the collation of the
   database, which may differ from the catalog's.
 * A login without UNMASK reads masks from masked columns. Encrypted columns give ciphertext. UNMASK is a right on the
   database, and since 2022 on a table, too; older servers answer null for a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from tidegate.databases.sqlserver.server import ServerFeatures
from tidegate.databases.sqlserver.types import KIND, base_type, declared_type, logical_type
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.sql.text import Dialect, Literal, Name, Sql, raw, render, sql

_TABLES = """
SELECT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_TYPE = 'BASE TABLE'
"""
_NUMBERED = """
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN ({names}) OR LOWER(TABLE_NAME) IN ({lower})
"""
_NUMBERS = """
SELECT SCHEMA_NAME(t.schema_id), t.name, t.object_id FROM sys.tables AS t WHERE t.is_ms_shipped = 0
UNION ALL
SELECT SCHEMA_NAME(v.schema_id), v.name, v.object_id FROM sys.views AS v WHERE v.is_ms_shipped = 0
"""
_COLUMN_NAMES = """
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME IN ({names})
"""
_COLUMNS = """
SELECT c.object_id, c.name, CASE WHEN c.user_type_id = 255 THEN N'vector' ELSE COALESCE(bt.name, ut.name, N'') END,
       c.max_length, c.precision, c.scale, c.collation_name, c.is_nullable, c.is_identity, c.is_computed,
       c.generated_always_type, c.is_column_set, c.is_masked, c.encryption_type, c.default_object_id, {base}
FROM sys.columns AS c
LEFT JOIN sys.types AS ut ON ut.user_type_id = c.user_type_id
LEFT JOIN sys.types AS bt ON bt.system_type_id = c.system_type_id AND bt.user_type_id = bt.system_type_id
WHERE c.object_id IN ({tables})
ORDER BY c.object_id, c.column_id
"""
_INDEXES = """
SELECT i.object_id, i.index_id, i.is_primary_key, i.is_unique, c.name
FROM sys.indexes AS i
JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.key_ordinal > 0
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id IN ({tables}) AND i.type IN (1, 2) AND i.has_filter = 0 AND i.is_disabled = 0
  AND i.is_hypothetical = 0
ORDER BY i.object_id, i.index_id, ic.key_ordinal
"""
_FACTS = """
SELECT p.object_id, 'rows', CONVERT(nvarchar(20), SUM(p.rows))
FROM sys.partitions AS p WHERE p.object_id IN ({tables}) AND p.index_id IN (0, 1) GROUP BY p.object_id
UNION ALL
SELECT t.parent_id, 'triggers', t.name FROM sys.triggers AS t WHERE t.parent_id IN ({tables}) AND t.is_disabled = 0
UNION ALL
SELECT f.parent_object_id, 'references',
       COALESCE(OBJECT_SCHEMA_NAME(f.referenced_object_id) + N'.' + OBJECT_NAME(f.referenced_object_id), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.parent_object_id IN ({tables})
UNION ALL
SELECT f.referenced_object_id, CASE f.delete_referential_action WHEN 0 THEN 'referenced_by' ELSE 'cascades_to' END,
       COALESCE(OBJECT_SCHEMA_NAME(f.parent_object_id) + N'.' + OBJECT_NAME(f.parent_object_id), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.referenced_object_id IN ({tables}) AND f.is_disabled = 0
UNION ALL
SELECT i.object_id, 'partitioned_by', N'RANGE (' + c.name + N')'
FROM sys.indexes AS i JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id IN ({tables}) AND i.index_id IN (0, 1)
UNION ALL
SELECT t.object_id, 'has_history', N'' FROM sys.tables AS t WHERE t.object_id IN ({tables}) AND t.temporal_type = 2
UNION ALL
SELECT t.object_id, 'is_captured', N'' FROM sys.tables AS t WHERE t.object_id IN ({tables}) AND t.is_tracked_by_cdc = 1
UNION ALL
SELECT t.object_id, 'in_memory', N'' FROM sys.tables AS t WHERE t.object_id IN ({tables}) AND t.is_memory_optimized = 1
UNION ALL
SELECT t.parent_id, 'instead', N'' FROM sys.triggers AS t
WHERE t.parent_id IN ({tables}) AND t.is_disabled = 0 AND t.is_instead_of_trigger = 1
UNION ALL
SELECT t.object_id, 'is_published', N'' FROM sys.tables AS t
WHERE t.object_id IN ({tables}) AND (t.is_replicated = 1 OR t.is_merge_published = 1)
UNION ALL
SELECT i.object_id, 'ignores_duplicates', i.name FROM sys.indexes AS i
WHERE i.object_id IN ({tables}) AND i.ignore_dup_key = 1 AND i.is_disabled = 0
UNION ALL
SELECT i.object_id, 'is_searched', N'' FROM sys.fulltext_indexes AS i
WHERE i.object_id IN ({tables}) AND i.is_enabled = 1 AND i.change_tracking_state = 'A'
UNION ALL
SELECT p.object_id, 'read_only_place', fg.name
FROM sys.partitions AS p
JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id
LEFT JOIN sys.destination_data_spaces AS d
  ON d.partition_scheme_id = i.data_space_id AND d.destination_id = p.partition_number
JOIN sys.filegroups AS fg ON fg.data_space_id = COALESCE(d.data_space_id, i.data_space_id) AND fg.is_read_only = 1
WHERE p.object_id IN ({tables})
UNION ALL
SELECT t.object_id, 'read_only_place', fg.name
FROM sys.tables AS t JOIN sys.filegroups AS fg ON fg.data_space_id = t.lob_data_space_id AND fg.is_read_only = 1
WHERE t.object_id IN ({tables})
UNION ALL
SELECT k.parent_object_id, 'rules',
       k.name + N' ' + COALESCE(LEFT(k.definition, 200) COLLATE CATALOG_DEFAULT, N'(hidden)')
FROM sys.check_constraints AS k WHERE k.parent_object_id IN ({tables}) AND k.is_disabled = 0
UNION ALL
SELECT i.object_id, 'unique_in_part',
       i.name + N' where ' + COALESCE(LEFT(i.filter_definition, 200) COLLATE CATALOG_DEFAULT, N'(hidden)')
FROM sys.indexes AS i
WHERE i.object_id IN ({tables}) AND i.is_unique = 1 AND i.has_filter = 1 AND i.is_disabled = 0
UNION ALL
SELECT t.object_id, 'is_external', N'' FROM sys.tables AS t WHERE t.object_id IN ({tables}) AND t.is_external = 1
UNION ALL
SELECT t.object_id, 'is_tracked', N'' FROM sys.change_tracking_tables AS t WHERE t.object_id IN ({tables})
UNION ALL
SELECT k.parent_object_id, 'not_trusted', k.name FROM sys.check_constraints AS k
WHERE k.parent_object_id IN ({tables}) AND k.is_not_trusted = 1 AND k.is_disabled = 0
UNION ALL
SELECT f.parent_object_id, 'not_trusted', f.name FROM sys.foreign_keys AS f
WHERE f.parent_object_id IN ({tables}) AND f.is_not_trusted = 1 AND f.is_disabled = 0
"""
_POLICIES = """
SELECT p.target_object_id, 'is_filtered', s.name
FROM sys.security_predicates AS p JOIN sys.security_policies AS s ON s.object_id = p.object_id AND s.is_enabled = 1
WHERE p.target_object_id IN ({tables}) AND p.predicate_type = 0
"""
_BOUND_VIEWS = """
SELECT d.referenced_id, 'bound_views', OBJECT_NAME(d.referencing_id) FROM sys.sql_expression_dependencies AS d
JOIN sys.sql_modules AS m ON m.object_id = d.referencing_id AND m.is_schema_bound = 1
WHERE d.referenced_id IN ({tables}) AND d.referenced_class = 1
"""
_CAPTURES = """
SELECT c.source_object_id, 'captures', c.capture_instance COLLATE CATALOG_DEFAULT FROM cdc.change_tables AS c
WHERE c.source_object_id IN ({tables}) AND c.has_drop_pending IS NULL
"""
_RIGHTS = """
SELECT t.number, CONVERT(int, HAS_PERMS_BY_NAME(t.name, 'OBJECT', 'SELECT')),
       COALESCE(HAS_PERMS_BY_NAME(t.name, 'OBJECT', 'UNMASK'),
                HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'UNMASK')),
       HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DEFINITION')
FROM (VALUES {tables}) AS t (number, name)
"""
MASKED = "it is masked, and this login has no UNMASK right: it would copy the masks"
_HIDDEN = "tables that this login may not see may refer to it (VIEW DEFINITION on the database shows them)"
_UNKNOWN_POLICIES = (
    "a security policy that this login may not see could hide rows (VIEW DEFINITION on the database shows all policies)"
)
_TARGET_NOTES = {
    "has_history": "it is system-versioned: each load adds the rows that it replaces to the history table",
    "is_captured": "its changes are captured (CDC): each load is captured as deletes and inserts",
    "captures": "CDC does not capture a column that is added to it until there is a new capture instance: {}",
    "in_memory": "it is memory-optimized: partition loads need MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT of its database on,"
    " verify needs ALLOW_SNAPSHOT_ISOLATION off; versions and static tables cannot be loaded, since it takes no locks"
    " (error 10794)",
    "is_published": "it is published for replication: each load is sent to its subscribers",
    "is_tracked": "it has Change Tracking: each load is tracked as deletes and inserts",
    "bound_views": "it cannot be altered while schema-bound views use it: {}",
    "not_trusted": "constraints are checked for loads, but were not checked for the existing rows (not trusted): {}",
    "rules": "rows that violate a check constraint are refused: {}",
    "unique_in_part": "a filtered unique index refuses two rows with the same key: {}",
    "ignores_duplicates": "IGNORE_DUP_KEY drops duplicate rows without an error, and the load is then refused: {}",
    "is_searched": "its full-text index is updated by each load",
    "read_only_place": "rows in a read-only filegroup cannot be loaded: {}",
    "is_filtered": "rows that a security policy hides from this login are neither replaced nor compared: {}",
    "instead": "it has an INSTEAD OF trigger: the rows that it writes are compared with the rows that were sent",
}
_ROW_VERSIONS_OF_A_REPLICA = (
    "it is read from a replica, which does not see the open transactions of the primary: with a row version as cursor,"
    " rows that are committed late can be missed: set a `look_back`, or read the primary"
)
_WITHOUT_SNAPSHOTS = (
    "this database allows no snapshots: a checksum of the rows is compared before and after they are read, and a window"
    " that changed meanwhile is refused; ALTER DATABASE ... SET ALLOW_SNAPSHOT_ISOLATION ON protects it better, and"
    " hold_locks=yes in the URL of the source lets writers wait while rows are read"
)
_SOURCE_WARNINGS = {
    "is_filtered": "rows that a security policy hides from this login are neither copied nor missed: {}",
    "in_memory": "it is memory-optimized: to read it, its database needs ALLOW_SNAPSHOT_ISOLATION off (error 41332)"
    " and MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT on (error 41368)",
}


def numbered(query: Callable[[Sql], list[Any]], names: Iterable[TableName]) -> dict[TableName, int]:
    """Return the object_id of every table and view with one of these names, in any case."""
    wanted = sorted({name.name for name in names})
    if not wanted:
        return {}
    question = sql(_NUMBERED.strip(), names=[*map(Literal, wanted)], lower=[Literal(name.lower()) for name in wanted])
    found = {_table(row): row[2] for row in query(question)}
    if None in found.values():  # OBJECT_ID of a compatible server cannot read some names in brackets
        known = {str(_table(row)).casefold(): row[2] for row in query(sql(_NUMBERS.strip()))}
        found = {name: number or known.get(str(name).casefold()) for name, number in found.items()}
    return {name: number for name, number in found.items() if number is not None}


def user_tables(query: Callable[[Sql], list[Any]]) -> list[TableName]:
    """Return the user's tables: no views, none of Tidegate's or of the server's tables."""
    own = ("tidegate", "cdc", "sys", "INFORMATION_SCHEMA")
    return sorted(_table(row) for row in query(sql(_TABLES.strip())) if row[0] not in own)


def _table(row: Any) -> TableName:
    return TableName(str(row[0]), str(row[1]))


def questions(tables: dict[int, TableName], dialect: Dialect, features: ServerFeatures) -> list[Sql]:
    """Return the queries for columns, indexes, other facts, the login's rights, and the case of column names."""
    numbers = [Literal(number) for number in sorted(tables)]
    optional = {_POLICIES: features.policies, _CAPTURES: features.captures, _BOUND_VIEWS: features.dependencies}
    base = raw("c.vector_base_type" if features.has_vector_base_type else "NULL")
    columns = sql(_COLUMNS.strip(), base=base, tables=numbers)
    facts = "\nUNION ALL\n".join(
        text.strip() for text in (_FACTS, *(text for text, is_available in optional.items() if is_available))
    )
    named = [
        sql("({number}, {name})", number=Literal(number), name=Literal(render(Name.of(name), dialect)))
        for number, name in sorted(tables.items())
    ]
    column_names = sql(_COLUMN_NAMES.strip(), names=[Literal(name.name) for name in sorted(tables.values())])
    return [
        columns,
        sql(_INDEXES.strip(), tables=numbers),
        sql(facts, tables=numbers),
        sql(_RIGHTS.strip(), tables=named),
        column_names,
    ]


def table_schemas(
    names: dict[int, TableName],
    columns: Iterable[Any],
    indexes: Iterable[Any],
    facts: Iterable[Any],
    rights: Iterable[Any],
    spellings: Iterable[Any],
    *,
    features: ServerFeatures,
) -> dict[TableName, TableSchema]:
    """Return the table schemas from the answers to `questions`."""
    original = _ColumnNames(names, spellings)
    columns_of: dict[int, list[Column]] = {}
    for number, name, *column in columns:
        columns_of.setdefault(number, []).append(_column(original.of(number, name), *column))
    keys: dict[int, dict[int, list[Any]]] = {}
    for number, index, is_primary, is_unique, name in indexes:
        part = (is_primary, is_unique, original.of(number, name))
        keys.setdefault(number, {}).setdefault(index, []).append(part)
    known: dict[int, dict[str, list[str]]] = {}
    for number, fact, value in facts:
        known.setdefault(number, {}).setdefault(fact, []).append(str(value))
    schemas = {
        number: _schema(names[number], found, keys.get(number, {}), known.get(number, {}), features)
        for number, found in columns_of.items()
    }
    by_number = {number: _Rights(*map(bool, granted)) for number, *granted in rights}
    return {
        names[number]: _with_rights(schema, by_number.get(number, _NO_RIGHTS), features)
        for number, schema in schemas.items()
    }


class _Rights(NamedTuple):
    """What the login may do with one table, and in its database."""

    read: bool
    see_unmasked: bool
    see_every_table: bool


_NO_RIGHTS = _Rights(read=False, see_unmasked=False, see_every_table=False)


def _with_rights(schema: TableSchema, rights: _Rights, features: ServerFeatures) -> TableSchema:
    columns = tuple(
        replace(column, unreadable="") if rights.see_unmasked and column.unreadable == MASKED else column
        for column in schema.columns
    )
    target_notes = schema.target_notes if rights.see_every_table else (*schema.target_notes, _HIDDEN)
    source_notes: tuple[str, ...] = (_UNKNOWN_POLICIES,) if features.policies and not rights.see_every_table else ()
    if not schema.reads_consistently:
        source_notes += (_WITHOUT_SNAPSHOTS,)
    return replace(schema, columns=columns, readable=rights.read, target_notes=target_notes, source_notes=source_notes)


class _ColumnNames:
    """The names of columns in their original case: a compatible server has lost it in sys.columns."""

    def __init__(self, tables: dict[int, TableName], spellings: Iterable[Any]) -> None:
        self._tables = tables
        self._exact = {(schema, table, column) for schema, table, column in spellings}
        self._by_case = {(schema, table, column.casefold()): column for schema, table, column in self._exact}

    def of(self, number: int, column: str) -> str:
        table = self._tables[number]
        if (table.schema, table.name, column) in self._exact:
            return column
        return str(self._by_case.get((table.schema, table.name, column.casefold()), column))


def _schema(
    name: TableName,
    columns: list[Column],
    indexes: dict[int, list[Any]],
    facts: dict[str, list[str]],
    features: ServerFeatures,
) -> TableSchema:
    by_index = {index: tuple(column for _, _, column in parts) for index, parts in indexes.items()}
    primary = {index for index, parts in indexes.items() if parts[0][0]}
    unique = {index for index, parts in indexes.items() if parts[0][1]}
    values = {fact: tuple(dict.fromkeys(found)) for fact, found in facts.items()}
    return TableSchema(
        name=name,
        columns=tuple(columns),
        primary_key=next((by_index[index] for index in primary), ()),
        unique_keys=tuple(by_index[index] for index in by_index if index in unique - primary),
        indexes=tuple(by_index.values()),
        row_estimate=int(values.get("rows", ("0",))[0]),
        triggers=values.get("triggers", ()),
        references=values.get("references", ()),
        referenced_by=(*values.get("referenced_by", ()), *values.get("cascades_to", ())),
        cascades_to=values.get("cascades_to", ()),
        partitioned_by=", ".join(values.get("partitioned_by", ())),
        reads_consistently=features.snapshot_of_transaction or features.snapshot_of_statement,
        transactional="is_external" not in values,
        target_notes=_notes(_TARGET_NOTES, values),
        source_warnings=(
            *_notes(_SOURCE_WARNINGS, values),
            *((_ROW_VERSIONS_OF_A_REPLICA,) if features.is_replica and _has_row_version(columns) else ()),
        ),
    )


def _has_row_version(columns: list[Column]) -> bool:
    return any(base_type(column.type) == "timestamp" for column in columns)


def _notes(texts: dict[str, str], values: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(text.format(", ".join(values[fact])) for fact, text in texts.items() if fact in values)


def _column(
    name: str,
    base: str,
    max_length: int,
    precision: int,
    scale: int,
    collation: str | None,
    *rest: Any,
) -> Column:
    nullable, identity, computed, generated, is_set, masked, encryption, default, numbers = rest
    spelling = declared_type(base, max_length, precision, scale, collation)
    type_ = logical_type(spelling)
    return Column(
        name=name,
        type=spelling,
        portable_type="binary(8)" if base_type(spelling) == "timestamp" else "",
        storage_type=type_.storage_type,
        nullable=bool(nullable),
        generated=bool(computed or generated or is_set) or base_type(spelling) == "timestamp",
        identity=bool(identity),
        has_default=bool(default) or bool(identity),
        logical_type=type_,
        database=KIND,
        collation=collation or "",
        unreadable=_why_unreadable(
            base, masked=bool(masked), encrypted=encryption is not None, half_precision=bool(numbers)
        ),
    )


def _why_unreadable(base: str, *, masked: bool, encrypted: bool, half_precision: bool) -> str:
    if not base:
        return "its type is not in the server's list of types"
    if masked:
        return MASKED
    if half_precision:
        return "it is a vector of half-precision numbers"
    if encrypted:
        return "it is encrypted by the client (Always Encrypted), and would be copied as ciphertext"
    return ""
