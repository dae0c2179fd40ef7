-- at the source: tidegate inspect
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT COUNT_BIG(*) FROM [dbo].[codes];
SELECT [code], [label] FROM [dbo].[codes];

-- at the source: tidegate extract
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
SELECT [code], [label] FROM [dbo].[codes];
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- at the target: tidegate run
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT owner, version FROM [tidegate].[target];
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef table dbo.codes', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
DELETE FROM [tidegate].[locks] WHERE table_name = N'dbo.codes';

INSERT INTO [tidegate].[locks] (table_name, run, holder, since) VALUES (N'dbo.codes', N'r-1', N'r-1 (somebody on a machine, process 1)', N'2024-01-31 07:00:00');
SELECT 1;
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
SELECT name, table_name, partition_name, purpose, run, details, at FROM [tidegate].[stages] ORDER BY at, name;
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT 1;
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[runs] (run, at, report) VALUES (N'r-1', N'2024-01-31 07:00:00', N'{}');

-- at the target: tidegate inspect
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT owner, version FROM [tidegate].[target];
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
SELECT l.value_text, l.generation, l.kind, l.row_total, l.hash, l.text_columns, l.newest, l.columns, l.columns_id, l.stamp, l.run, l.at
FROM [tidegate].[ledger] AS l
JOIN (SELECT value_text, max(generation) AS generation FROM [tidegate].[ledger] WHERE table_name = N'dbo.codes'
      GROUP BY value_text) AS newest
  ON newest.value_text = l.value_text AND newest.generation = l.generation
WHERE l.table_name = N'dbo.codes';
SELECT COUNT_BIG(*) FROM [dbo].[codes];
SELECT scope FROM [tidegate].[scopes] WHERE table_name = N'dbo.codes';

-- at the target: tidegate load
SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at
FROM [tidegate].[ledger] WHERE table_name = N'dbo.codes' AND value_text = N'all rows' ORDER BY generation DESC;
SELECT [code], [label] FROM [dbo].[codes];
SELECT [code] AS [tidegate_0], [label] AS [tidegate_1] INTO [#tidegate_1] FROM [dbo].[codes] WHERE 1 = 0
UNION ALL SELECT [code] AS [tidegate_0], [label] AS [tidegate_1] FROM [dbo].[codes] WHERE 1 = 0;
SELECT t.name FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N'tidegate') AND LEFT(t.name, 6) = N'stage_';
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[stage_1] ([c0] nvarchar(3) NULL, [c1] nvarchar(20) NULL);
-- rows into the stage
SELECT COUNT_BIG(*), COUNT_BIG([c0]), COUNT_BIG([c1]) FROM [tidegate].[stage_1];
SELECT MAX(CASE WHEN CONVERT(nvarchar(max), CONVERT(varchar(max), [c0] COLLATE SQL_Latin1_General_CP1_CI_AS)) COLLATE Latin1_General_100_BIN2 <> [c0] COLLATE Latin1_General_100_BIN2 THEN 0 ELSE -1 END) FROM [tidegate].[stage_1];
INSERT INTO [#tidegate_1] ([tidegate_0], [tidegate_1]) SELECT [c0], [c1] FROM [tidegate].[stage_1];
SELECT ROWCOUNT_BIG();
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef value dbo.codes all rows', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT run FROM [tidegate].[locks] WHERE table_name = N'dbo.codes';
SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at
FROM [tidegate].[ledger] WHERE table_name = N'dbo.codes' AND value_text = N'all rows' ORDER BY generation DESC;
SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at
FROM [tidegate].[ledger] WHERE table_name = N'dbo.codes' AND value_text = N'all rows' ORDER BY generation DESC;
UPDATE t SET [label] = s.[tidegate_1] FROM [dbo].[codes] AS t WITH (UPDLOCK, HOLDLOCK) JOIN [#tidegate_1] AS s ON ([t].[code] = [s].[tidegate_0] AND CONVERT(varbinary(8000), [t].[code]) = CONVERT(varbinary(8000), [s].[tidegate_0]) AND DATALENGTH([t].[code]) = DATALENGTH([s].[tidegate_0]));
SELECT [code], [label] FROM [dbo].[codes];
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[ledger] (table_name, value_text, generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at) VALUES (N'dbo.codes', N'all rows', 2, N'loaded', 2, N'4e82e174f8b7b4eb56d56813e2a8dfac', N'[]', N'{"version": 2, "token": {"token": "content", "version": 1, "content": "2 4e82e174f8b7b4eb56d56813e2a8dfac"}, "target_rows": 2, "target_hash": "4e82e174f8b7b4eb56d56813e2a8dfac"}', N'{"code": "string", "label": "string"}', N'e6d26a719fdc4a31', N'its size and time', N'r-1', N'2024-01-31 07:00:00');
COMMIT TRANSACTION;
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
DROP TABLE IF EXISTS [#tidegate_1];
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
