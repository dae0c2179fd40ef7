SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'odd "orders" `of` [x] {y} 100%', N't') OR LOWER(TABLE_NAME) IN (N'odd "orders" `of` [x] {y} 100%', N't');
DECLARE @all nvarchar(10) = NULL;
SELECT @all = COALESCE(@all, N'') + v FROM (VALUES (N'a'), (N'b')) AS two (v);
SELECT d.snapshot_isolation_state, d.is_read_committed_snapshot_on, LEN(@all),
       CONVERT(int, SERVERPROPERTY('EngineEdition')), OBJECT_ID(N'sys.security_predicates'),
       HAS_PERMS_BY_NAME(N'cdc.change_tables', 'OBJECT', 'SELECT'),
       CONVERT(nvarchar(20), DATABASEPROPERTYEX(DB_NAME(), 'Updateability')),
       CASE WHEN HAS_PERMS_BY_NAME(N'sys.sql_expression_dependencies', 'OBJECT', 'SELECT') = 1
             AND HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DEFINITION') = 1 THEN 1 ELSE 0 END,
       (SELECT MAX(1) FROM sys.all_columns AS c
        WHERE c.object_id = OBJECT_ID(N'sys.columns') AND c.name = N'vector_base_type')
FROM sys.databases AS d WHERE d.name = DB_NAME();
SELECT SCHEMA_NAME(t.schema_id), t.name, t.object_id FROM sys.tables AS t WHERE t.is_ms_shipped = 0
UNION ALL
SELECT SCHEMA_NAME(v.schema_id), v.name, v.object_id FROM sys.views AS v WHERE v.is_ms_shipped = 0;
SELECT c.object_id, c.name, CASE WHEN c.user_type_id = 255 THEN N'vector' ELSE COALESCE(bt.name, ut.name, N'') END,
       c.max_length, c.precision, c.scale, c.collation_name, c.is_nullable, c.is_identity, c.is_computed,
       c.generated_always_type, c.is_column_set, c.is_masked, c.encryption_type, c.default_object_id, c.vector_base_type
FROM sys.columns AS c
LEFT JOIN sys.types AS ut ON ut.user_type_id = c.user_type_id
LEFT JOIN sys.types AS bt ON bt.system_type_id = c.system_type_id AND bt.user_type_id = bt.system_type_id
WHERE c.object_id IN (7, 8)
ORDER BY c.object_id, c.column_id;
SELECT i.object_id, i.index_id, i.is_primary_key, i.is_unique, c.name
FROM sys.indexes AS i
JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.key_ordinal > 0
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id IN (7, 8) AND i.type IN (1, 2) AND i.has_filter = 0 AND i.is_disabled = 0
  AND i.is_hypothetical = 0
ORDER BY i.object_id, i.index_id, ic.key_ordinal;
SELECT p.object_id, 'rows', CONVERT(nvarchar(20), SUM(p.rows))
FROM sys.partitions AS p WHERE p.object_id IN (7, 8) AND p.index_id IN (0, 1) GROUP BY p.object_id
UNION ALL
SELECT t.parent_id, 'triggers', t.name FROM sys.triggers AS t WHERE t.parent_id IN (7, 8) AND t.is_disabled = 0
UNION ALL
SELECT f.parent_object_id, 'references',
       COALESCE(OBJECT_SCHEMA_NAME(f.referenced_object_id) + N'.' + OBJECT_NAME(f.referenced_object_id), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.parent_object_id IN (7, 8)
UNION ALL
SELECT f.referenced_object_id, CASE f.delete_referential_action WHEN 0 THEN 'referenced_by' ELSE 'cascades_to' END,
       COALESCE(OBJECT_SCHEMA_NAME(f.parent_object_id) + N'.' + OBJECT_NAME(f.parent_object_id), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.referenced_object_id IN (7, 8) AND f.is_disabled = 0
UNION ALL
SELECT i.object_id, 'partitioned_by', N'RANGE (' + c.name + N')'
FROM sys.indexes AS i JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id IN (7, 8) AND i.index_id IN (0, 1)
UNION ALL
SELECT t.object_id, 'has_history', N'' FROM sys.tables AS t WHERE t.object_id IN (7, 8) AND t.temporal_type = 2
UNION ALL
SELECT t.object_id, 'is_captured', N'' FROM sys.tables AS t WHERE t.object_id IN (7, 8) AND t.is_tracked_by_cdc = 1
UNION ALL
SELECT t.object_id, 'in_memory', N'' FROM sys.tables AS t WHERE t.object_id IN (7, 8) AND t.is_memory_optimized = 1
UNION ALL
SELECT t.parent_id, 'instead', N'' FROM sys.triggers AS t
WHERE t.parent_id IN (7, 8) AND t.is_disabled = 0 AND t.is_instead_of_trigger = 1
UNION ALL
SELECT t.object_id, 'is_published', N'' FROM sys.tables AS t
WHERE t.object_id IN (7, 8) AND (t.is_replicated = 1 OR t.is_merge_published = 1)
UNION ALL
SELECT i.object_id, 'ignores_duplicates', i.name FROM sys.indexes AS i
WHERE i.object_id IN (7, 8) AND i.ignore_dup_key = 1 AND i.is_disabled = 0
UNION ALL
SELECT i.object_id, 'is_searched', N'' FROM sys.fulltext_indexes AS i
WHERE i.object_id IN (7, 8) AND i.is_enabled = 1 AND i.change_tracking_state = 'A'
UNION ALL
SELECT p.object_id, 'read_only_place', fg.name
FROM sys.partitions AS p
JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id
LEFT JOIN sys.destination_data_spaces AS d
  ON d.partition_scheme_id = i.data_space_id AND d.destination_id = p.partition_number
JOIN sys.filegroups AS fg ON fg.data_space_id = COALESCE(d.data_space_id, i.data_space_id) AND fg.is_read_only = 1
WHERE p.object_id IN (7, 8)
UNION ALL
SELECT t.object_id, 'read_only_place', fg.name
FROM sys.tables AS t JOIN sys.filegroups AS fg ON fg.data_space_id = t.lob_data_space_id AND fg.is_read_only = 1
WHERE t.object_id IN (7, 8)
UNION ALL
SELECT k.parent_object_id, 'rules',
       k.name + N' ' + COALESCE(LEFT(k.definition, 200) COLLATE CATALOG_DEFAULT, N'(hidden)')
FROM sys.check_constraints AS k WHERE k.parent_object_id IN (7, 8) AND k.is_disabled = 0
UNION ALL
SELECT i.object_id, 'unique_in_part',
       i.name + N' where ' + COALESCE(LEFT(i.filter_definition, 200) COLLATE CATALOG_DEFAULT, N'(hidden)')
FROM sys.indexes AS i
WHERE i.object_id IN (7, 8) AND i.is_unique = 1 AND i.has_filter = 1 AND i.is_disabled = 0
UNION ALL
SELECT t.object_id, 'is_external', N'' FROM sys.tables AS t WHERE t.object_id IN (7, 8) AND t.is_external = 1
UNION ALL
SELECT t.object_id, 'is_tracked', N'' FROM sys.change_tracking_tables AS t WHERE t.object_id IN (7, 8)
UNION ALL
SELECT k.parent_object_id, 'not_trusted', k.name FROM sys.check_constraints AS k
WHERE k.parent_object_id IN (7, 8) AND k.is_not_trusted = 1 AND k.is_disabled = 0
UNION ALL
SELECT f.parent_object_id, 'not_trusted', f.name FROM sys.foreign_keys AS f
WHERE f.parent_object_id IN (7, 8) AND f.is_not_trusted = 1 AND f.is_disabled = 0
UNION ALL
SELECT p.target_object_id, 'is_filtered', s.name
FROM sys.security_predicates AS p JOIN sys.security_policies AS s ON s.object_id = p.object_id AND s.is_enabled = 1
WHERE p.target_object_id IN (7, 8) AND p.predicate_type = 0
UNION ALL
SELECT d.referenced_id, 'bound_views', OBJECT_NAME(d.referencing_id) FROM sys.sql_expression_dependencies AS d
JOIN sys.sql_modules AS m ON m.object_id = d.referencing_id AND m.is_schema_bound = 1
WHERE d.referenced_id IN (7, 8) AND d.referenced_class = 1;
SELECT t.number, CONVERT(int, HAS_PERMS_BY_NAME(t.name, 'OBJECT', 'SELECT')),
       COALESCE(HAS_PERMS_BY_NAME(t.name, 'OBJECT', 'UNMASK'),
                HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'UNMASK')),
       HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DEFINITION')
FROM (VALUES (7, N'[sales]."odd ""orders"" `of` [x] {y} 100%"'), (8, N'[dbo].[t]')) AS t (number, name);
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME IN (N't', N'odd "orders" `of` [x] {y} 100%');
