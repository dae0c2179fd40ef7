-- at the source: tidegate inspect
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
WITH found AS (
  SELECT MIN([cob]) AS value FROM [dbo].[trades]
  UNION ALL
  SELECT next_one.value FROM (
    SELECT t.[cob] AS value, ROW_NUMBER() OVER (ORDER BY t.[cob]) AS place
    FROM [dbo].[trades] AS t JOIN found ON t.[cob] > found.value) AS next_one
  WHERE next_one.place = 1)
SELECT TOP (100001) CONVERT(nvarchar(50), [value]) FROM found WHERE value IS NOT NULL OPTION (MAXRECURSION 0);
SELECT CONVERT(nvarchar(50), [cob]), COUNT_BIG(*), NULL
FROM [dbo].[trades] WHERE [cob] = CONVERT(int, N'20240131') GROUP BY [cob];

-- at the source: tidegate extract
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
SELECT [cob], [id], [note] FROM [dbo].[trades] WHERE [cob] = CONVERT(int, N'20240131');
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- at the target: tidegate run
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef ledger', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[target] ([owner] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL, [version] int NOT NULL, [at] nvarchar(80) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY CLUSTERED ([owner]));
SELECT owner, version FROM [tidegate].[target];
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[target] (owner, version, at) VALUES (N'db on server', 2, N'2024-01-31 07:00:00');
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[scopes] ([table_name] nvarchar(600) COLLATE Latin1_General_100_BIN2 NOT NULL, [scope] nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY CLUSTERED ([table_name]));
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[runs] ([run] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL, [at] nvarchar(80) COLLATE Latin1_General_100_BIN2 NOT NULL, [report] nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY CLUSTERED ([run]));
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[locks] ([table_name] nvarchar(600) COLLATE Latin1_General_100_BIN2 NOT NULL, [run] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL, [holder] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL, [since] nvarchar(80) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY CLUSTERED ([table_name]));
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[stages] ([name] nvarchar(600) COLLATE Latin1_General_100_BIN2 NOT NULL, [table_name] nvarchar(600) COLLATE Latin1_General_100_BIN2 NOT NULL, [partition_name] nvarchar(600) COLLATE Latin1_General_100_BIN2 NOT NULL, [purpose] nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL, [run] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL, [details] nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, [at] nvarchar(80) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY CLUSTERED ([name]));
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[ledger] ([table_name] nvarchar(600) COLLATE Latin1_General_100_BIN2 NOT NULL, [value_text] nvarchar(800) COLLATE Latin1_General_100_BIN2 NOT NULL, [generation] int NOT NULL, [kind] nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL, [row_total] bigint NOT NULL, [hash] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL, [text_columns] nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, [newest] nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL, [columns] nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, [columns_id] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL, [stamp] nvarchar(160) COLLATE Latin1_General_100_BIN2 NOT NULL, [run] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL, [at] nvarchar(80) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY NONCLUSTERED ([table_name], [value_text], [generation]));
COMMIT TRANSACTION;
SELECT owner, version FROM [tidegate].[target];
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef table dbo.trades', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
DELETE FROM [tidegate].[locks] WHERE table_name = N'dbo.trades';

INSERT INTO [tidegate].[locks] (table_name, run, holder, since) VALUES (N'dbo.trades', N'r-1', N'r-1 (somebody on a machine, process 1)', N'2024-01-31 07:00:00');
BEGIN TRANSACTION;
CREATE TABLE [dbo].[trades] ([cob] int NOT NULL, [id] int NOT NULL, [note] nvarchar(20) COLLATE SQL_Latin1_General_CP1_CI_AS NULL, PRIMARY KEY CLUSTERED ([cob], [id]));
COMMIT TRANSACTION;
BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef scope dbo.trades', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
DELETE FROM [tidegate].[scopes] WHERE table_name = N'dbo.trades';
INSERT INTO [tidegate].[scopes] (table_name, scope) VALUES (N'dbo.trades', N'{"kind": "integer", "floor": "20240131", "ranges": [], "forgotten": []}');
COMMIT TRANSACTION;
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
JOIN (SELECT value_text, max(generation) AS generation FROM [tidegate].[ledger] WHERE table_name = N'dbo.trades'
      GROUP BY value_text) AS newest
  ON newest.value_text = l.value_text AND newest.generation = l.generation
WHERE l.table_name = N'dbo.trades';
SELECT scope FROM [tidegate].[scopes] WHERE table_name = N'dbo.trades';

-- at the target: tidegate load
SELECT t.name FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N'tidegate') AND LEFT(t.name, 6) = N'stage_';
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[stage_1] ([c0] int NULL, [c1] int NULL, [c2] nvarchar(20) NULL);
-- rows into the stage
SELECT COUNT_BIG(*), COUNT_BIG([c0]), COUNT_BIG([c1]), COUNT_BIG([c2]) FROM [tidegate].[stage_1];
BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 0123456789abcdef value dbo.trades 20240131', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT run FROM [tidegate].[locks] WHERE table_name = N'dbo.trades';
SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at
FROM [tidegate].[ledger] WHERE table_name = N'dbo.trades' AND value_text = N'20240131' ORDER BY generation DESC;
DELETE FROM [dbo].[trades] WHERE [cob] = CONVERT(int, N'20240131');
INSERT INTO [dbo].[trades] ([cob], [id], [note]) SELECT [c0], [c1], [c2] FROM [tidegate].[stage_1];
SELECT ROWCOUNT_BIG();
SELECT [cob], [id], [note] FROM [dbo].[trades] WHERE [cob] = CONVERT(int, N'20240131');
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[ledger] (table_name, value_text, generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at) VALUES (N'dbo.trades', N'20240131', 1, N'loaded', 2, N'556f916249dbbac47c46bff56aad9451', N'[]', N'{"version": 2, "token": {"token": "partition", "version": 1, "newest": null}, "target_rows": null, "target_hash": ""}', N'{"cob": "int32", "id": "int32", "note": "string"}', N'0baebf99dea7e12b', N'its size and time', N'r-1', N'2024-01-31 07:00:00');
COMMIT TRANSACTION;
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 0123456789abcdef tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
