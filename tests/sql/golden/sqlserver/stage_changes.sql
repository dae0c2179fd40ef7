SELECT [cobid] AS [tidegate_0], [it's a "note"] AS [tidegate_1], [b] AS [tidegate_2] INTO [#tidegate_1] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE 1 = 0
UNION ALL SELECT [cobid] AS [tidegate_0], [it's a "note"] AS [tidegate_1], [b] AS [tidegate_2] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE 1 = 0;
SELECT t.name FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N'tidegate') AND LEFT(t.name, 6) = N'stage_';
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 91d83825e439cf71 tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[stage_1] ([c0] int NULL, [c1] nvarchar(40) NULL, [c2] varbinary(max) NULL);
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
-- bulk copy into [tidegate].[stage_1] with {'timeout': 0, 'column_mappings': ['c0', 'c1', 'c2'], 'table_lock': True, 'keep_nulls': True}
-- then its rows:
-- {'c0': 7, 'c1': "it's", 'c2': b'x'}
-- {'c0': 8, 'c1': '', 'c2': None}
SELECT COUNT_BIG(*), COUNT_BIG([c0]), COUNT_BIG([c1]), COUNT_BIG([c2]) FROM [tidegate].[stage_1];
INSERT INTO [#tidegate_1] ([tidegate_0], [tidegate_1], [tidegate_2]) SELECT [c0], [c1], [c2] FROM [tidegate].[stage_1];
SELECT ROWCOUNT_BIG();
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 91d83825e439cf71 tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
UPDATE t SET [b] = s.[tidegate_2] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" AS t WITH (UPDLOCK, HOLDLOCK) JOIN [#tidegate_1] AS s ON [t].[cobid] = [s].[tidegate_0] AND ([t].[it's a "note"] = [s].[tidegate_1] AND CONVERT(varbinary(8000), [t].[it's a "note"]) = CONVERT(varbinary(8000), [s].[tidegate_1]) AND DATALENGTH([t].[it's a "note"]) = DATALENGTH([s].[tidegate_1]));
DELETE t FROM [sales]."odd ""orders"" `of` [x] {y} 100%" AS t WITH (UPDLOCK, HOLDLOCK) JOIN [#tidegate_1] AS s ON [t].[cobid] = [s].[tidegate_0] AND ([t].[it's a "note"] = [s].[tidegate_1] AND CONVERT(varbinary(8000), [t].[it's a "note"]) = CONVERT(varbinary(8000), [s].[tidegate_1]) AND DATALENGTH([t].[it's a "note"]) = DATALENGTH([s].[tidegate_1]));
SELECT [cobid], [it's a "note"] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE EXISTS (SELECT 1 FROM [#tidegate_1] AS s WHERE [s].[tidegate_0] = [cobid] AND ([s].[tidegate_1] = [it's a "note"] AND CONVERT(varbinary(8000), [s].[tidegate_1]) = CONVERT(varbinary(8000), [it's a "note"]) AND DATALENGTH([s].[tidegate_1]) = DATALENGTH([it's a "note"])));
SELECT [cobid], [it's a "note"] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE EXISTS (SELECT 1 FROM [#tidegate_1] AS s WHERE [s].[tidegate_0] = [cobid]);
DROP TABLE IF EXISTS [#tidegate_1];
