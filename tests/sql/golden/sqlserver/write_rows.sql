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
-- {'c0': 7, 'c1': 'say "hi", it\'s\n\\.\n', 'c2': b'\x00\xff'}
-- {'c0': 8, 'c1': None, 'c2': b''}
SELECT COUNT_BIG(*), COUNT_BIG([c0]), COUNT_BIG([c1]), COUNT_BIG([c2]) FROM [tidegate].[stage_1];
INSERT INTO [sales]."odd ""orders"" `of` [x] {y} 100%" ([cobid], [it's a "note"], [b]) SELECT [c0], [c1], [c2] FROM [tidegate].[stage_1];
SELECT ROWCOUNT_BIG();
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 91d83825e439cf71 tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
