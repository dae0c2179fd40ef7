SELECT DB_NAME() + N' on ' + COALESCE(CONVERT(nvarchar(36), d.group_database_id), @@SERVERNAME)
FROM sys.databases AS d WHERE d.database_id = DB_ID();
SELECT owner FROM [tidegate].[target];
