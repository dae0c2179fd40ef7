-- at the source: tidegate inspect
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT CONVERT(nvarchar(50), CONVERT(datetime2(3), SYSDATETIME()), 121);
SELECT CONVERT(nvarchar(50), max([LastModified]), 121), CONVERT(nvarchar(50), max(CASE WHEN [LastModified] <= CONVERT(datetime2(3), N'2024-01-31 07:00:00', 121) THEN [LastModified] END), 121), COUNT_BIG(CASE WHEN [LastModified] IS NOT NULL AND [LastModified] >= CONVERT(datetime2(3), N'2024-01-31 07:00:00', 121) THEN 1 END) FROM [dbo].[customers];
SELECT COUNT_BIG(*) FROM [dbo].[customers] WHERE [LastModified] IS NULL;

-- at the source: tidegate extract
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
SELECT [id], [LastModified], [IsLatest] FROM [dbo].[customers] WHERE [LastModified] >= CONVERT(datetime2(3), N'2024-01-31 07:00:00', 121) AND [LastModified] <= CONVERT(datetime2(3), N'2024-01-31 07:00:00', 121);
SELECT [id], [name], [LastModified], [IsLatest] FROM [dbo].[customers] WHERE [LastModified] >= CONVERT(datetime2(3), N'2024-01-31 07:00:00', 121) AND [LastModified] <= CONVERT(datetime2(3), N'2024-01-31 07:00:00', 121);
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- at the target: tidegate run
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT owner, version FROM [tidegate].[target];
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef table dbo.customers', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
DELETE FROM [tidegate].[locks] WHERE table_name = N'dbo.customers';

INSERT INTO [tidegate].[locks] (table_name, run, holder, since) VALUES (N'dbo.customers', N'r-1', N'r-1 (somebody on a machine, process 1)', N'2024-01-31 07:00:00');
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
JOIN (SELECT value_text, max(generation) AS generation FROM [tidegate].[ledger] WHERE table_name = N'dbo.customers'
      GROUP BY value_text) AS newest
  ON newest.value_text = l.value_text AND newest.generation = l.generation
WHERE l.table_name = N'dbo.customers';
SELECT scope FROM [tidegate].[scopes] WHERE table_name = N'dbo.customers';
SELECT COUNT_BIG(*) FROM [dbo].[customers];

-- at the target: tidegate load
SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at
FROM [tidegate].[ledger] WHERE table_name = N'dbo.customers' AND value_text = N'2024-01-31-07-00-00' ORDER BY generation DESC;
SELECT CASE WHEN EXISTS (SELECT 1 FROM [dbo].[customers]) THEN 1 ELSE 0 END;
SELECT [id] AS [tidegate_0] INTO [#tidegate_1] FROM [dbo].[customers] WHERE 1 = 0
UNION ALL SELECT [id] AS [tidegate_0] FROM [dbo].[customers] WHERE 1 = 0;
SELECT t.name FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N'tidegate') AND LEFT(t.name, 6) = N'stage_';
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[stage_1] ([c0] int NULL);
-- rows into the stage
SELECT COUNT_BIG(*), COUNT_BIG([c0]) FROM [tidegate].[stage_1];
INSERT INTO [#tidegate_1] ([tidegate_0]) SELECT [c0] FROM [tidegate].[stage_1];
SELECT ROWCOUNT_BIG();
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
SELECT [id], [name], [LastModified], [IsLatest] FROM [dbo].[customers] WHERE EXISTS (SELECT 1 FROM [#tidegate_1] AS s WHERE [s].[tidegate_0] = [id]);
SELECT [id] AS [tidegate_0], [LastModified] AS [tidegate_1], [IsLatest] AS [tidegate_2] INTO [#tidegate_1] FROM [dbo].[customers] WHERE 1 = 0
UNION ALL SELECT [id] AS [tidegate_0], [LastModified] AS [tidegate_1], [IsLatest] AS [tidegate_2] FROM [dbo].[customers] WHERE 1 = 0;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[stage_1] ([c0] int NULL, [c1] varchar(50) NULL, [c2] bit NULL);
-- rows into the stage
SELECT COUNT_BIG(*), COUNT_BIG([c0]), COUNT_BIG([c1]), COUNT_BIG([c2]) FROM [tidegate].[stage_1];
INSERT INTO [#tidegate_1] ([tidegate_0], [tidegate_1], [tidegate_2]) SELECT [c0], CONVERT(datetime2(3), [c1], 121), [c2] FROM [tidegate].[stage_1];
SELECT ROWCOUNT_BIG();
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[stage_1] ([c0] int NULL, [c1] nvarchar(20) NULL, [c2] varchar(50) NULL, [c3] bit NULL);
-- rows into the stage
SELECT COUNT_BIG(*), COUNT_BIG([c0]), COUNT_BIG([c1]), COUNT_BIG([c2]), COUNT_BIG([c3]) FROM [tidegate].[stage_1];
BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef value dbo.customers 2024-01-31-07-00-00', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT run FROM [tidegate].[locks] WHERE table_name = N'dbo.customers';
SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at
FROM [tidegate].[ledger] WHERE table_name = N'dbo.customers' AND value_text = N'2024-01-31-07-00-00' ORDER BY generation DESC;
SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at
FROM [tidegate].[ledger] WHERE table_name = N'dbo.customers' AND value_text = N'2024-01-31-07-00-00' ORDER BY generation DESC;
UPDATE t SET [IsLatest] = s.[tidegate_2] FROM [dbo].[customers] AS t WITH (UPDLOCK, HOLDLOCK) JOIN [#tidegate_1] AS s ON [t].[id] = [s].[tidegate_0] AND [t].[LastModified] = [s].[tidegate_1];
INSERT INTO [dbo].[customers] ([id], [name], [LastModified], [IsLatest]) SELECT [c0], [c1], CONVERT(datetime2(3), [c2], 121), [c3] FROM [tidegate].[stage_1];
SELECT ROWCOUNT_BIG();
SELECT [id], [name], [LastModified], [IsLatest] FROM [dbo].[customers] WHERE EXISTS (SELECT 1 FROM [#tidegate_1] AS s WHERE [s].[tidegate_0] = [id]);
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[ledger] (table_name, value_text, generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at) VALUES (N'dbo.customers', N'2024-01-31-07-00-00', 1, N'loaded', 3, N'3959c22632c0d74fa41f3805888bc0ae', N'[]', N'{"version": 2, "token": {"token": "cursor", "version": 1, "kind": "timestamp", "after": "2024-01-31 07:00:00", "upto": "2024-01-31 07:00:00", "watermark": "2024-01-31 07:00:00", "keys_read_at": null, "lookback_fingerprint": "1 03e8c6bc7760c8d8cabc060c732eb8ee", "read_at": "2024-01-31 07:00:00", "is_given": false}, "target_rows": 3, "target_hash": ""}', N'{"id": "int32", "name": "string", "LastModified": "timestamp", "IsLatest": "bool"}', N'3c43a157c5f18633', N'its size and time', N'r-1', N'2024-01-31 07:00:00');
COMMIT TRANSACTION;
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
DROP TABLE IF EXISTS [#tidegate_1];
DROP TABLE IF EXISTS [#tidegate_1];
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
