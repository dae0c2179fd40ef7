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

-- at the source: tidegate verify
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
SELECT [cob], [id], [note] FROM [dbo].[trades] WHERE [cob] = CONVERT(int, N'20240131');
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

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

-- at the target: tidegate verify
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
SELECT [cob], [id], [note] FROM [dbo].[trades] WHERE [cob] = CONVERT(int, N'20240131');
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- at the target: tidegate report
-- looks into the catalog, as in golden/sqlserver/session_shapes.sql
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[runs] (run, at, report) VALUES (N'r-1', N'2024-01-31 07:00:00', N'{}');
