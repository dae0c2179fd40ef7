SELECT t.name FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N'tidegate') AND LEFT(t.name, 6) = N'stage_';
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 91d83825e439cf71 tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[stage_1] ([c0] nvarchar(max) NULL);
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
-- bulk copy into [tidegate].[stage_1] with {'timeout': 0, 'column_mappings': ['c0'], 'table_lock': True, 'keep_nulls': True}
-- then its rows:
-- {'c0': 'x'}
SELECT COUNT_BIG(*), COUNT_BIG([c0]) FROM [tidegate].[stage_1];
SELECT DISTINCT LEFT([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) - 1) FROM [tidegate].[stage_1] WHERE [c0] IS NOT NULL;
INSERT INTO [sales]."odd ""orders"" `of` [x] {y} 100%" ([v]) SELECT CASE LEFT([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) - 1) WHEN N'bigint' THEN CONVERT(sql_variant, CONVERT(bigint, SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000))) WHEN N'bit' THEN CONVERT(sql_variant, CONVERT(bit, SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000))) WHEN N'date' THEN CONVERT(sql_variant, CONVERT(date, SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000), 23)) WHEN N'datetimeoffset(7)' THEN CONVERT(sql_variant, CONVERT(datetimeoffset(7), SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000), 121)) WHEN N'decimal(9,2)' THEN CONVERT(sql_variant, CONVERT(decimal(9,2), SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000))) WHEN N'float' THEN CONVERT(sql_variant, CONVERT(float, SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000))) WHEN N'money' THEN CONVERT(sql_variant, CONVERT(money, SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000))) WHEN N'nchar(3) COLLATE Japanese_CI_AS' THEN CONVERT(sql_variant, CONVERT(nchar(3), SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000) COLLATE Japanese_CI_AS)) WHEN N'time(7)' THEN CONVERT(sql_variant, CONVERT(time(7), SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000), 121)) WHEN N'uniqueidentifier' THEN CONVERT(sql_variant, CONVERT(uniqueidentifier, SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000))) WHEN N'varbinary(8)' THEN CONVERT(sql_variant, CONVERT(varbinary(8), SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000), 1)) WHEN N'varchar(20) COLLATE Latin1_General_CI_AS' THEN CONVERT(sql_variant, CONVERT(varchar(20), SUBSTRING([c0], CHARINDEX(N':', ([c0] + N':') COLLATE Latin1_General_100_BIN2) + 1, 20000) COLLATE Latin1_General_CI_AS)) END FROM [tidegate].[stage_1];
SELECT ROWCOUNT_BIG();
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 91d83825e439cf71 tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
