BEGIN TRANSACTION;
SELECT TOP (1) 1 FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WITH (TABLOCK, HOLDLOCK);
SELECT COALESCE(SUM(p.rows), 0) FROM sys.partitions AS p
WHERE p.object_id = OBJECT_ID(N'[sales].[odd "orders"_STAGE_1]') AND p.index_id IN (0, 1) AND p.partition_number = 2;
SELECT COALESCE(SUM(p.rows), 0) FROM sys.partitions AS p
WHERE p.object_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND p.index_id IN (0, 1) AND p.partition_number = 2;
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
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'odd "orders" `of` [x] {y} 100%') OR LOWER(TABLE_NAME) IN (N'odd "orders" `of` [x] {y} 100%');
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
WHERE t.object_id = 7;
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
WHERE c.object_id = 7
ORDER BY c.column_id;
SELECT i.index_id, COALESCE(i.name, N''), i.type_desc, i.is_primary_key, i.is_unique_constraint, i.is_unique,
       CASE WHEN i.has_filter = 1 THEN i.filter_definition END, i.is_disabled, ps.name, pc.name
FROM sys.indexes AS i
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
LEFT JOIN sys.columns AS pc ON pc.object_id = ic.object_id AND pc.column_id = ic.column_id
WHERE i.object_id = 7 AND i.index_id > 0 AND i.is_hypothetical = 0
ORDER BY i.index_id;
SELECT ic.index_id, c.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column
FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE ic.object_id = 7 AND (ic.key_ordinal > 0 OR ic.is_included_column = 1)
ORDER BY ic.index_id, ic.is_included_column, ic.key_ordinal, ic.index_column_id;
SELECT p.index_id, p.partition_number, p.data_compression_desc
FROM sys.partitions AS p WHERE p.object_id = 7 ORDER BY p.index_id, p.partition_number;
SELECT k.name, k.definition, k.is_disabled, k.is_not_trusted
FROM sys.check_constraints AS k WHERE k.parent_object_id = 7 ORDER BY k.name;
SELECT f.name,
       QUOTENAME(OBJECT_SCHEMA_NAME(f.referenced_object_id)) + N'.' + QUOTENAME(OBJECT_NAME(f.referenced_object_id)),
       a.name, b.name, f.delete_referential_action_desc, f.update_referential_action_desc,
       f.is_disabled, f.is_not_trusted
FROM sys.foreign_keys AS f
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS a ON a.object_id = k.parent_object_id AND a.column_id = k.parent_column_id
JOIN sys.columns AS b ON b.object_id = k.referenced_object_id AND b.column_id = k.referenced_column_id
WHERE f.parent_object_id = 7
ORDER BY f.name, k.constraint_column_id;
SELECT f.name, COALESCE(QUOTENAME(OBJECT_SCHEMA_NAME(f.parent_object_id)) + N'.'
       + QUOTENAME(OBJECT_NAME(f.parent_object_id)), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.referenced_object_id = 7 ORDER BY f.name;
SELECT QUOTENAME(SCHEMA_NAME(v.schema_id)) + N'.' + QUOTENAME(v.name), i.name
FROM sys.sql_expression_dependencies AS d
JOIN sys.views AS v ON v.object_id = d.referencing_id
JOIN sys.indexes AS i ON i.object_id = v.object_id AND i.index_id = 1
WHERE d.referenced_id = 7 AND d.referenced_class = 1;
CREATE TABLE [sales].[odd_OLD_1] ([cobid] int NOT NULL, [name] nvarchar(50) COLLATE Latin1_General_100_CI_AS NULL, [amount] decimal(19, 4) NULL, [twice] AS ([amount]*(2)) PERSISTED) ON [ps] ([cobid]) WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1 TO 2), DATA_COMPRESSION = ROW ON PARTITIONS (4));
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'odd "orders" `of` [x] {y} 100%') OR LOWER(TABLE_NAME) IN (N'odd "orders" `of` [x] {y} 100%');
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
WHERE t.object_id = 7;
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
WHERE c.object_id = 7
ORDER BY c.column_id;
SELECT i.index_id, COALESCE(i.name, N''), i.type_desc, i.is_primary_key, i.is_unique_constraint, i.is_unique,
       CASE WHEN i.has_filter = 1 THEN i.filter_definition END, i.is_disabled, ps.name, pc.name
FROM sys.indexes AS i
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
LEFT JOIN sys.columns AS pc ON pc.object_id = ic.object_id AND pc.column_id = ic.column_id
WHERE i.object_id = 7 AND i.index_id > 0 AND i.is_hypothetical = 0
ORDER BY i.index_id;
SELECT ic.index_id, c.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column
FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE ic.object_id = 7 AND (ic.key_ordinal > 0 OR ic.is_included_column = 1)
ORDER BY ic.index_id, ic.is_included_column, ic.key_ordinal, ic.index_column_id;
SELECT p.index_id, p.partition_number, p.data_compression_desc
FROM sys.partitions AS p WHERE p.object_id = 7 ORDER BY p.index_id, p.partition_number;
SELECT k.name, k.definition, k.is_disabled, k.is_not_trusted
FROM sys.check_constraints AS k WHERE k.parent_object_id = 7 ORDER BY k.name;
SELECT f.name,
       QUOTENAME(OBJECT_SCHEMA_NAME(f.referenced_object_id)) + N'.' + QUOTENAME(OBJECT_NAME(f.referenced_object_id)),
       a.name, b.name, f.delete_referential_action_desc, f.update_referential_action_desc,
       f.is_disabled, f.is_not_trusted
FROM sys.foreign_keys AS f
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS a ON a.object_id = k.parent_object_id AND a.column_id = k.parent_column_id
JOIN sys.columns AS b ON b.object_id = k.referenced_object_id AND b.column_id = k.referenced_column_id
WHERE f.parent_object_id = 7
ORDER BY f.name, k.constraint_column_id;
SELECT f.name, COALESCE(QUOTENAME(OBJECT_SCHEMA_NAME(f.parent_object_id)) + N'.'
       + QUOTENAME(OBJECT_NAME(f.parent_object_id)), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.referenced_object_id = 7 ORDER BY f.name;
SELECT QUOTENAME(SCHEMA_NAME(v.schema_id)) + N'.' + QUOTENAME(v.name), i.name
FROM sys.sql_expression_dependencies AS d
JOIN sys.views AS v ON v.object_id = d.referencing_id
JOIN sys.indexes AS i ON i.object_id = v.object_id AND i.index_id = 1
WHERE d.referenced_id = 7 AND d.referenced_class = 1;
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'odd_OLD_1') OR LOWER(TABLE_NAME) IN (N'odd_old_1');
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
WHERE t.object_id = 9;
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
WHERE c.object_id = 9
ORDER BY c.column_id;
SELECT i.index_id, COALESCE(i.name, N''), i.type_desc, i.is_primary_key, i.is_unique_constraint, i.is_unique,
       CASE WHEN i.has_filter = 1 THEN i.filter_definition END, i.is_disabled, ps.name, pc.name
FROM sys.indexes AS i
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
LEFT JOIN sys.columns AS pc ON pc.object_id = ic.object_id AND pc.column_id = ic.column_id
WHERE i.object_id = 9 AND i.index_id > 0 AND i.is_hypothetical = 0
ORDER BY i.index_id;
SELECT ic.index_id, c.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column
FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE ic.object_id = 9 AND (ic.key_ordinal > 0 OR ic.is_included_column = 1)
ORDER BY ic.index_id, ic.is_included_column, ic.key_ordinal, ic.index_column_id;
SELECT p.index_id, p.partition_number, p.data_compression_desc
FROM sys.partitions AS p WHERE p.object_id = 9 ORDER BY p.index_id, p.partition_number;
SELECT k.name, k.definition, k.is_disabled, k.is_not_trusted
FROM sys.check_constraints AS k WHERE k.parent_object_id = 9 ORDER BY k.name;
SELECT f.name,
       QUOTENAME(OBJECT_SCHEMA_NAME(f.referenced_object_id)) + N'.' + QUOTENAME(OBJECT_NAME(f.referenced_object_id)),
       a.name, b.name, f.delete_referential_action_desc, f.update_referential_action_desc,
       f.is_disabled, f.is_not_trusted
FROM sys.foreign_keys AS f
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS a ON a.object_id = k.parent_object_id AND a.column_id = k.parent_column_id
JOIN sys.columns AS b ON b.object_id = k.referenced_object_id AND b.column_id = k.referenced_column_id
WHERE f.parent_object_id = 9
ORDER BY f.name, k.constraint_column_id;
SELECT f.name, COALESCE(QUOTENAME(OBJECT_SCHEMA_NAME(f.parent_object_id)) + N'.'
       + QUOTENAME(OBJECT_NAME(f.parent_object_id)), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.referenced_object_id = 9 ORDER BY f.name;
SELECT QUOTENAME(SCHEMA_NAME(v.schema_id)) + N'.' + QUOTENAME(v.name), i.name
FROM sys.sql_expression_dependencies AS d
JOIN sys.views AS v ON v.object_id = d.referencing_id
JOIN sys.indexes AS i ON i.object_id = v.object_id AND i.index_id = 1
WHERE d.referenced_id = 9 AND d.referenced_class = 1;
ALTER TABLE [sales].[odd_OLD_1] ADD PRIMARY KEY CLUSTERED ([cobid], [name] DESC) WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1 TO 2), DATA_COMPRESSION = ROW ON PARTITIONS (4)) ON [ps] ([cobid]);
CREATE NONCLUSTERED INDEX [ix_name] ON [sales].[odd_OLD_1] ([name]) INCLUDE ([amount]) WHERE ([amount]>(0)) ON [ps] ([cobid]);
CREATE NONCLUSTERED COLUMNSTORE INDEX [ix_columns] ON [sales].[odd_OLD_1] ([amount]) ON [ps] ([cobid]);
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'odd_OLD_1') OR LOWER(TABLE_NAME) IN (N'odd_old_1');
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
WHERE t.object_id = 9;
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
WHERE c.object_id = 9
ORDER BY c.column_id;
SELECT i.index_id, COALESCE(i.name, N''), i.type_desc, i.is_primary_key, i.is_unique_constraint, i.is_unique,
       CASE WHEN i.has_filter = 1 THEN i.filter_definition END, i.is_disabled, ps.name, pc.name
FROM sys.indexes AS i
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
LEFT JOIN sys.columns AS pc ON pc.object_id = ic.object_id AND pc.column_id = ic.column_id
WHERE i.object_id = 9 AND i.index_id > 0 AND i.is_hypothetical = 0
ORDER BY i.index_id;
SELECT ic.index_id, c.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column
FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE ic.object_id = 9 AND (ic.key_ordinal > 0 OR ic.is_included_column = 1)
ORDER BY ic.index_id, ic.is_included_column, ic.key_ordinal, ic.index_column_id;
SELECT p.index_id, p.partition_number, p.data_compression_desc
FROM sys.partitions AS p WHERE p.object_id = 9 ORDER BY p.index_id, p.partition_number;
SELECT k.name, k.definition, k.is_disabled, k.is_not_trusted
FROM sys.check_constraints AS k WHERE k.parent_object_id = 9 ORDER BY k.name;
SELECT f.name,
       QUOTENAME(OBJECT_SCHEMA_NAME(f.referenced_object_id)) + N'.' + QUOTENAME(OBJECT_NAME(f.referenced_object_id)),
       a.name, b.name, f.delete_referential_action_desc, f.update_referential_action_desc,
       f.is_disabled, f.is_not_trusted
FROM sys.foreign_keys AS f
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS a ON a.object_id = k.parent_object_id AND a.column_id = k.parent_column_id
JOIN sys.columns AS b ON b.object_id = k.referenced_object_id AND b.column_id = k.referenced_column_id
WHERE f.parent_object_id = 9
ORDER BY f.name, k.constraint_column_id;
SELECT f.name, COALESCE(QUOTENAME(OBJECT_SCHEMA_NAME(f.parent_object_id)) + N'.'
       + QUOTENAME(OBJECT_NAME(f.parent_object_id)), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.referenced_object_id = 9 ORDER BY f.name;
SELECT QUOTENAME(SCHEMA_NAME(v.schema_id)) + N'.' + QUOTENAME(v.name), i.name
FROM sys.sql_expression_dependencies AS d
JOIN sys.views AS v ON v.object_id = d.referencing_id
JOIN sys.indexes AS i ON i.object_id = v.object_id AND i.index_id = 1
WHERE d.referenced_id = 9 AND d.referenced_class = 1;
ALTER TABLE [sales].[odd_OLD_1] WITH CHECK ADD CHECK ([amount]>=(0));
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'odd_OLD_1') OR LOWER(TABLE_NAME) IN (N'odd_old_1');
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
WHERE t.object_id = 9;
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
WHERE c.object_id = 9
ORDER BY c.column_id;
SELECT i.index_id, COALESCE(i.name, N''), i.type_desc, i.is_primary_key, i.is_unique_constraint, i.is_unique,
       CASE WHEN i.has_filter = 1 THEN i.filter_definition END, i.is_disabled, ps.name, pc.name
FROM sys.indexes AS i
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
LEFT JOIN sys.columns AS pc ON pc.object_id = ic.object_id AND pc.column_id = ic.column_id
WHERE i.object_id = 9 AND i.index_id > 0 AND i.is_hypothetical = 0
ORDER BY i.index_id;
SELECT ic.index_id, c.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column
FROM sys.index_columns AS ic JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE ic.object_id = 9 AND (ic.key_ordinal > 0 OR ic.is_included_column = 1)
ORDER BY ic.index_id, ic.is_included_column, ic.key_ordinal, ic.index_column_id;
SELECT p.index_id, p.partition_number, p.data_compression_desc
FROM sys.partitions AS p WHERE p.object_id = 9 ORDER BY p.index_id, p.partition_number;
SELECT k.name, k.definition, k.is_disabled, k.is_not_trusted
FROM sys.check_constraints AS k WHERE k.parent_object_id = 9 ORDER BY k.name;
SELECT f.name,
       QUOTENAME(OBJECT_SCHEMA_NAME(f.referenced_object_id)) + N'.' + QUOTENAME(OBJECT_NAME(f.referenced_object_id)),
       a.name, b.name, f.delete_referential_action_desc, f.update_referential_action_desc,
       f.is_disabled, f.is_not_trusted
FROM sys.foreign_keys AS f
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS a ON a.object_id = k.parent_object_id AND a.column_id = k.parent_column_id
JOIN sys.columns AS b ON b.object_id = k.referenced_object_id AND b.column_id = k.referenced_column_id
WHERE f.parent_object_id = 9
ORDER BY f.name, k.constraint_column_id;
SELECT f.name, COALESCE(QUOTENAME(OBJECT_SCHEMA_NAME(f.parent_object_id)) + N'.'
       + QUOTENAME(OBJECT_NAME(f.parent_object_id)), N'(hidden)')
FROM sys.foreign_keys AS f WHERE f.referenced_object_id = 9 ORDER BY f.name;
SELECT QUOTENAME(SCHEMA_NAME(v.schema_id)) + N'.' + QUOTENAME(v.name), i.name
FROM sys.sql_expression_dependencies AS d
JOIN sys.views AS v ON v.object_id = d.referencing_id
JOIN sys.indexes AS i ON i.object_id = v.object_id AND i.index_id = 1
WHERE d.referenced_id = 9 AND d.referenced_class = 1;
ALTER TABLE [sales].[odd_OLD_1] WITH CHECK ADD FOREIGN KEY ([name], [cobid]) REFERENCES [sales].[customers] ([name], [cobid]) ON DELETE CASCADE;
SELECT @@LOCK_TIMEOUT;
SET LOCK_TIMEOUT 1000;
SELECT COALESCE(SUM(p.rows), 0) FROM sys.partitions AS p
WHERE p.object_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND p.index_id IN (0, 1) AND p.partition_number = 2;
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" SWITCH PARTITION 2 TO [sales].[odd_OLD_1] PARTITION 2;
ALTER TABLE [sales].[odd "orders"_STAGE_1] SWITCH PARTITION 2 TO [sales]."odd ""orders"" `of` [x] {y} 100%" PARTITION 2;
SET LOCK_TIMEOUT 300000;
SELECT COALESCE(SUM(p.rows), 0) FROM sys.partitions AS p
WHERE p.object_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND p.index_id IN (0, 1) AND p.partition_number = 2;
COMMIT TRANSACTION;
