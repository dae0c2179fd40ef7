SELECT DB_NAME() + N' on ' + COALESCE(CONVERT(nvarchar(36), d.group_database_id), @@SERVERNAME,
                                     CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
SELECT owner FROM [tidegate].[target];
