SELECT f.name, s.name, t.name, ps.name, p.name, CONVERT(int, f.is_not_trusted), f.delete_referential_action_desc,
       f.update_referential_action_desc, COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(s.name) + N'.' + QUOTENAME(t.name),
       N'OBJECT', N'ALTER'), 0), c.name, pc.name
FROM sys.foreign_keys AS f
JOIN sys.tables AS t ON t.object_id = f.parent_object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.tables AS p ON p.object_id = f.referenced_object_id JOIN sys.schemas AS ps ON ps.schema_id = p.schema_id
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id
JOIN sys.columns AS pc ON pc.object_id = k.referenced_object_id AND pc.column_id = k.referenced_column_id
WHERE f.is_disabled = 0 AND ((s.name = N'sales' AND t.name = N'odd "orders" `of` [x] {y} 100%') OR (ps.name = N'sales' AND p.name = N'odd "orders" `of` [x] {y} 100%') OR (s.name = N'sales' AND t.name = N'daily') OR (ps.name = N'sales' AND p.name = N'daily'))
ORDER BY s.name, t.name, f.name, k.constraint_column_id;
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
SET NUMERIC_ROUNDABORT OFF;
SET XACT_ABORT ON;
SET NOCOUNT OFF;
SET LANGUAGE us_english;
SET DEADLOCK_PRIORITY LOW;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCK_TIMEOUT 300000;
SET CONTEXT_INFO 0x7469646567617465206c6f6164;
BEGIN TRANSACTION;
SELECT t.name FROM sys.triggers AS t
WHERE t.parent_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND t.is_disabled = 0 AND t.is_ms_shipped = 0 ORDER BY t.name;
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" DISABLE TRIGGER [audit];
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" NOCHECK CONSTRAINT [fk];
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" WITH CHECK CHECK CONSTRAINT [fk];
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ENABLE TRIGGER [audit];
COMMIT TRANSACTION;
