BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate a1ecd13cd58018c8 ledger', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'ledger', N'locks', N'runs', N'scopes', N'stages', N'target') OR LOWER(TABLE_NAME) IN (N'ledger', N'locks', N'runs', N'scopes', N'stages', N'target');
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[target] ([owner] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL, [version] int NOT NULL, [at] nvarchar(80) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY CLUSTERED ([owner]));
SELECT owner, version FROM [tidegate].[target];
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME();
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[target] (owner, version, at) VALUES (N'1/2', 2, N'now+00:00');
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
