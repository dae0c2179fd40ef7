SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'snapshot_versions') OR LOWER(TABLE_NAME) IN (N'snapshot_versions');
BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 45310348fa9f6a14 snapshot versions', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'snapshot_versions') OR LOWER(TABLE_NAME) IN (N'snapshot_versions');
IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
CREATE TABLE [tidegate].[snapshot_versions] ([component] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL, [version] int NOT NULL, [at] nvarchar(80) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY CLUSTERED ([component], [version]));
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'snapshot_versions') OR LOWER(TABLE_NAME) IN (N'snapshot_versions');
CREATE INDEX [ix] ON [odd schema].[snap's] ([a]);
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[snapshot_versions] (component, version, at) VALUES (N'it''s', 1, N'now+00:00');
COMMIT TRANSACTION;
