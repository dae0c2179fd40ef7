DELETE FROM [tidegate].[ledger];
DELETE FROM [tidegate].[target];
DELETE FROM [tidegate].[locks];
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[target] (owner, version, at) VALUES (N'1/2', 2, N'now+00:00');
