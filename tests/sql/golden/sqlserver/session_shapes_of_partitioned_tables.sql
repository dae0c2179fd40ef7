SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'odd "orders" `of` [x] {y} 100%') OR LOWER(TABLE_NAME) IN (N'odd "orders" `of` [x] {y} 100%');
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
SELECT c.object_id, c.name, CASE WHEN c.user_type_id = 255 THEN N'vector' ELSE COALESCE(bt.name, ut.name, N'') END,
       c.max_length, c.precision, c.scale, c.collation_name, c.is_nullable, c.is_identity, c.is_computed,
       c.generated_always_type, c.is_column_set, c.is_masked, c.encryption_type, c.default_object_id, c.vector_base_type
FROM sys.columns AS c
LEFT JOIN sys.types AS ut ON ut.user_type_id = c.user_type_id
LEFT JOIN sys.types AS bt ON bt.system_type_id = c.system_type_id AND bt.user_type_id = bt.system_type_id
WHERE c.object_id IN (7)
ORDER BY c.object_id, c.column_id;
SELECT i.object_id, i.index_id, i.is_primary_key, i.is_unique, c.name
FROM sys.indexes AS i
JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.key_ordinal > 0
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id IN (7) AND i.type IN (1, 2) AND i.has_filter = 0 AND i.is_disabled = 0
  AND i.is_hypothetical = 0
ORDER BY i.object_id, i.index_id, ic.key_ordinal;
SELECT p.object_id, 'rows', CONVERT(nvarchar(20), SUM(p.rows))
FROM sys.partitions AS p WHERE p.object_id IN (7) AND p.index_id IN (0, 1) GROUP BY p.object_id
UNION ALL
SELECT t.parent_id, 'triggers', t.name FROM sys.triggers AS t WHERE t.parent_id IN (7) AND t.is_disabled = 0
UNION ALL
SELECT f.parent_object_id, 'references',
       COALESCE(OBJECT_SCHEMA_NAME(f.referenced_object_id) + N'.' + OBJECT_NAME(f.referenced_object_id), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.parent_object_id IN (7)
UNION ALL
SELECT f.referenced_object_id, CASE f.delete_referential_action WHEN 0 THEN 'referenced_by' ELSE 'cascades_to' END,
       COALESCE(OBJECT_SCHEMA_NAME(f.parent_object_id) + N'.' + OBJECT_NAME(f.parent_object_id), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.referenced_object_id IN (7) AND f.is_disabled = 0
UNION ALL
SELECT i.object_id, 'partitioned_by', N'RANGE (' + c.name + N')'
FROM sys.indexes AS i JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id IN (7) AND i.index_id IN (0, 1)
UNION ALL
SELECT t.object_id, 'has_history', N'' FROM sys.tables AS t WHERE t.object_id IN (7) AND t.temporal_type = 2
UNION ALL
SELECT t.object_id, 'is_captured', N'' FROM sys.tables AS t WHERE t.object_id IN (7) AND t.is_tracked_by_cdc = 1
UNION ALL
SELECT t.object_id, 'in_memory', N'' FROM sys.tables AS t WHERE t.object_id IN (7) AND t.is_memory_optimized = 1
UNION ALL
SELECT t.parent_id, 'instead', N'' FROM sys.triggers AS t
WHERE t.parent_id IN (7) AND t.is_disabled = 0 AND t.is_instead_of_trigger = 1
UNION ALL
SELECT t.object_id, 'is_published', N'' FROM sys.tables AS t
WHERE t.object_id IN (7) AND (t.is_replicated = 1 OR t.is_merge_published = 1)
UNION ALL
SELECT i.object_id, 'ignores_duplicates', i.name FROM sys.indexes AS i
WHERE i.object_id IN (7) AND i.ignore_dup_key = 1 AND i.is_disabled = 0
UNION ALL
SELECT i.object_id, 'is_searched', N'' FROM sys.fulltext_indexes AS i
WHERE i.object_id IN (7) AND i.is_enabled = 1 AND i.change_tracking_state = 'A'
UNION ALL
SELECT p.object_id, 'read_only_place', fg.name
FROM sys.partitions AS p
JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id
LEFT JOIN sys.destination_data_spaces AS d
  ON d.partition_scheme_id = i.data_space_id AND d.destination_id = p.partition_number
JOIN sys.filegroups AS fg ON fg.data_space_id = COALESCE(d.data_space_id, i.data_space_id) AND fg.is_read_only = 1
WHERE p.object_id IN (7)
UNION ALL
SELECT t.object_id, 'read_only_place', fg.name
FROM sys.tables AS t JOIN sys.filegroups AS fg ON fg.data_space_id = t.lob_data_space_id AND fg.is_read_only = 1
WHERE t.object_id IN (7)
UNION ALL
SELECT k.parent_object_id, 'rules',
       k.name + N' ' + COALESCE(LEFT(k.definition, 200) COLLATE CATALOG_DEFAULT, N'(hidden)')
FROM sys.check_constraints AS k WHERE k.parent_object_id IN (7) AND k.is_disabled = 0
UNION ALL
SELECT i.object_id, 'unique_in_part',
       i.name + N' where ' + COALESCE(LEFT(i.filter_definition, 200) COLLATE CATALOG_DEFAULT, N'(hidden)')
FROM sys.indexes AS i
WHERE i.object_id IN (7) AND i.is_unique = 1 AND i.has_filter = 1 AND i.is_disabled = 0
UNION ALL
SELECT t.object_id, 'is_external', N'' FROM sys.tables AS t WHERE t.object_id IN (7) AND t.is_external = 1
UNION ALL
SELECT t.object_id, 'is_tracked', N'' FROM sys.change_tracking_tables AS t WHERE t.object_id IN (7)
UNION ALL
SELECT k.parent_object_id, 'not_trusted', k.name FROM sys.check_constraints AS k
WHERE k.parent_object_id IN (7) AND k.is_not_trusted = 1 AND k.is_disabled = 0
UNION ALL
SELECT f.parent_object_id, 'not_trusted', f.name FROM sys.foreign_keys AS f
WHERE f.parent_object_id IN (7) AND f.is_not_trusted = 1 AND f.is_disabled = 0
UNION ALL
SELECT p.target_object_id, 'is_filtered', s.name
FROM sys.security_predicates AS p JOIN sys.security_policies AS s ON s.object_id = p.object_id AND s.is_enabled = 1
WHERE p.target_object_id IN (7) AND p.predicate_type = 0
UNION ALL
SELECT d.referenced_id, 'bound_views', OBJECT_NAME(d.referencing_id) FROM sys.sql_expression_dependencies AS d
JOIN sys.sql_modules AS m ON m.object_id = d.referencing_id AND m.is_schema_bound = 1
WHERE d.referenced_id IN (7) AND d.referenced_class = 1;
SELECT t.number, CONVERT(int, HAS_PERMS_BY_NAME(t.name, 'OBJECT', 'SELECT')),
       COALESCE(HAS_PERMS_BY_NAME(t.name, 'OBJECT', 'UNMASK'),
                HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'UNMASK')),
       HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DEFINITION')
FROM (VALUES (7, N'[sales]."odd ""orders"" `of` [x] {y} 100%"')) AS t (number, name);
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME IN (N'odd "orders" `of` [x] {y} 100%');
SELECT i.object_id, pf.name, pf.boundary_value_on_right, pf.fanout, c.name, CASE WHEN [v].[boundary_id] IS NOT NULL AND [v].[value] IS NULL THEN N'(null)'
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([v].[value], 'BaseType')) IN (N'binary', N'varbinary')
     THEN CONVERT(nvarchar(4000), CONVERT(varbinary(2000), [v].[value]), 1)
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([v].[value], 'BaseType')) IN (N'float', N'real')
     THEN CONVERT(nvarchar(60), CONVERT(float, [v].[value]), 3)
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([v].[value], 'BaseType')) IN (N'money', N'smallmoney')
     THEN CONVERT(nvarchar(60), CONVERT(money, [v].[value]), 2)
     ELSE CONVERT(nvarchar(4000), [v].[value], 126) END,
       p.rows, p.data_compression_desc
FROM sys.indexes AS i
JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
JOIN sys.partition_functions AS pf ON pf.function_id = ps.function_id
JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
LEFT JOIN sys.partitions AS p
  ON p.object_id = i.object_id AND p.index_id = i.index_id AND p.partition_number = pf.fanout
LEFT JOIN sys.partition_range_values AS v ON v.function_id = pf.function_id AND v.boundary_id = pf.fanout - 1
WHERE i.object_id IN (7) AND i.index_id IN (0, 1);
SELECT i.name, s.name, i.object_id
FROM sys.indexes AS i
JOIN sys.data_spaces AS s ON s.data_space_id = i.data_space_id
JOIN sys.indexes AS base ON base.object_id = i.object_id AND base.index_id IN (0, 1)
JOIN sys.partition_schemes AS on_base ON on_base.data_space_id = base.data_space_id
LEFT JOIN sys.index_columns AS by_base
  ON by_base.object_id = base.object_id AND by_base.index_id = base.index_id AND by_base.partition_ordinal = 1
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.index_columns AS by_own
  ON by_own.object_id = i.object_id AND by_own.index_id = i.index_id AND by_own.partition_ordinal = 1
WHERE i.object_id IN (7) AND i.index_id > 1 AND i.is_disabled = 0 AND i.is_hypothetical = 0
  AND (ps.function_id IS NULL OR ps.function_id <> on_base.function_id OR by_own.column_id <> by_base.column_id)
ORDER BY i.object_id, i.index_id;
