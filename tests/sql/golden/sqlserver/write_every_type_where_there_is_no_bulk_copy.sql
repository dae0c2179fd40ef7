SELECT t.name FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N'tidegate') AND LEFT(t.name, 6) = N'stage_';
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 91d83825e439cf71 tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[stage_1] ([c0] bit NULL, [c1] smallint NULL, [c2] smallint NULL, [c3] int NULL, [c4] bigint NULL, [c5] decimal(38,18) NULL, [c6] decimal(9,2) NULL, [c7] decimal(19,4) NULL, [c8] decimal(10,4) NULL, [c9] real NULL, [c10] float NULL, [c11] varchar(50) NULL, [c12] varchar(50) NULL, [c13] varchar(50) NULL, [c14] varchar(50) NULL, [c15] varchar(50) NULL, [c16] varchar(50) NULL, [c17] varchar(50) NULL, [c18] varchar(50) NULL, [c19] nvarchar(5) NULL, [c20] nvarchar(5) NULL, [c21] nvarchar(20) NULL, [c22] nvarchar(20) NULL, [c23] nvarchar(max) NULL, [c24] nvarchar(max) NULL, [c25] nvarchar(max) NULL, [c26] varbinary(8) NULL, [c27] varbinary(max) NULL, [c28] varbinary(max) NULL, [c29] varchar(50) NULL, [c30] nvarchar(max) NULL, [c31] nvarchar(max) NULL, [c32] nvarchar(max) NULL, [c33] varbinary(max) NULL, [c34] varbinary(max) NULL, [c35] varbinary(max) NULL, [c36] nvarchar(max) NULL);
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
INSERT INTO [tidegate].[stage_1] VALUES (1, 1, 1, 1, 1, 1.000000000000000000, 1.00, 1.0000, 1.0000, N'0.5', N'0.5', N'0001-01-01', N'23:59:59.9999999', N'23:59:59.999999', N'9999-12-31 23:59:59.999', N'9999-12-31 23:59:59.999', N'9999-12-31 23:59:59.9999999', N'9999-12-31 23:59:59.999999', N'2024-03-10 23:59:59.1234567 +05:30', N'x', N'x', N'x', N'x', N'x', N'x', N'x', 0x78, 0x78, 0x78, N'x', N'x', N'x', N'x', 0x78, 0x78, 0x78, N'x');
SELECT COUNT_BIG(*), COUNT_BIG([c0]), COUNT_BIG([c1]), COUNT_BIG([c2]), COUNT_BIG([c3]), COUNT_BIG([c4]), COUNT_BIG([c5]), COUNT_BIG([c6]), COUNT_BIG([c7]), COUNT_BIG([c8]), COUNT_BIG([c9]), COUNT_BIG([c10]), COUNT_BIG([c11]), COUNT_BIG([c12]), COUNT_BIG([c13]), COUNT_BIG([c14]), COUNT_BIG([c15]), COUNT_BIG([c16]), COUNT_BIG([c17]), COUNT_BIG([c18]), COUNT_BIG([c19]), COUNT_BIG([c20]), COUNT_BIG([c21]), COUNT_BIG([c22]), COUNT_BIG([c23]), COUNT_BIG([c24]), COUNT_BIG([c25]), COUNT_BIG([c26]), COUNT_BIG([c27]), COUNT_BIG([c28]), COUNT_BIG([c29]), COUNT_BIG([c30]), COUNT_BIG([c31]), COUNT_BIG([c32]), COUNT_BIG([c33]), COUNT_BIG([c34]), COUNT_BIG([c35]), COUNT_BIG([c36]) FROM [tidegate].[stage_1];
SELECT MAX(CASE WHEN CONVERT(nvarchar(max), CONVERT(varchar(max), [c21] COLLATE Latin1_General_CI_AS)) COLLATE Latin1_General_100_BIN2 <> [c21] COLLATE Latin1_General_100_BIN2 THEN 21 ELSE -1 END) FROM [tidegate].[stage_1];
SELECT DISTINCT LEFT([c36], CHARINDEX(N':', ([c36] + N':') COLLATE Latin1_General_100_BIN2) - 1) FROM [tidegate].[stage_1] WHERE [c36] IS NOT NULL;
INSERT INTO [sales]."odd ""orders"" `of` [x] {y} 100%" ([c bit], [c tinyint], [c smallint], [c int], [c bigint], [c decimal(38,18)], [c numeric(9,2)], [c money], [c smallmoney], [c real], [c float], [c date], [c time(7)], [c time(3)], [c datetime], [c smalldatetime], [c datetime2(7)], [c datetime2(6)], [c datetimeoffset(7)], [c char(5)], [c nchar(5)], [c varchar(20) COLLATE Latin1_General_CI_AS], [c nvarchar(20)], [c nvarchar(max)], [c text], [c ntext], [c binary(8)], [c varbinary(max)], [c image], [c uniqueidentifier], [c xml], [c json], [c vector(3)], [c hierarchyid], [c geometry], [c geography], [c sql_variant]) SELECT [c0], [c1], [c2], [c3], [c4], [c5], [c6], [c7], [c8], [c9], [c10], CONVERT(date, [c11], 23), CONVERT(time(7), [c12], 121), CONVERT(time(3), [c13], 121), CONVERT(datetime, [c14], 121), CONVERT(smalldatetime, [c15], 121), CONVERT(datetime2(7), [c16], 121), CONVERT(datetime2(6), [c17], 121), CONVERT(datetimeoffset(7), [c18], 121), [c19], [c20], [c21], [c22], [c23], [c24], [c25], [c26], [c27], [c28], CONVERT(uniqueidentifier, [c29]), CONVERT(xml, [c30], 1), CONVERT(json, [c31]), CONVERT(vector(3), [c32]), CONVERT(hierarchyid, [c33]), CONVERT(geometry, [c34]), CONVERT(geography, [c35]), CONVERT(sql_variant, NULL) FROM [tidegate].[stage_1];
SELECT ROWCOUNT_BIG();
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 91d83825e439cf71 tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
