SELECT owner, version FROM [tidegate].[target];
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate a1ecd13cd58018c8 ledger', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
SELECT owner, version FROM [tidegate].[target];
SELECT table_name, value_text, generation, newest FROM [tidegate].[ledger];
UPDATE [tidegate].[ledger] SET newest = N'{"version": 2, "token": {"token": "partition", "version": 1, "newest": "2024-01-31 10:00:00"}, "target_rows": null, "target_hash": ""}'
WHERE table_name = N'it''s' AND value_text = N'7' AND generation = 3;
UPDATE [tidegate].[target] SET version = 2;
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
COMMIT TRANSACTION;
