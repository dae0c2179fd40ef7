SELECT CASE WHEN EXISTS (SELECT 1 FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([cobid] = CONVERT(int, N'20240115')) AND ([it's a "note"] IS NOT NULL OR [b] IS NOT NULL)) THEN 1 ELSE 0 END;
SELECT CASE WHEN EXISTS (SELECT 1 FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [it's a "note"] IS NOT NULL) THEN 1 ELSE 0 END;
SELECT [cobid] AS [tidegate_0], [it's a "note"] AS [tidegate_1], [b] AS [tidegate_2] INTO [#tidegate_1] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE 1 = 0
UNION ALL SELECT [cobid] AS [tidegate_0], [it's a "note"] AS [tidegate_1], [b] AS [tidegate_2] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE 1 = 0;
SELECT t.name FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N'tidegate') AND LEFT(t.name, 6) = N'stage_';
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 91d83825e439cf71 tidegate.stage_1', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
DROP TABLE IF EXISTS [tidegate].[stage_1];
EXEC sp_releaseapplock @Resource = N'tidegate 91d83825e439cf71 tidegate.stage_1', @LockOwner = N'Session', @DbPrincipal = N'public';
INSERT INTO [#tidegate_1] ([tidegate_0], [tidegate_1], [tidegate_2]) SELECT [cobid], [it's a "note"], [b] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WITH (UPDLOCK, HOLDLOCK) WHERE [cobid] = CONVERT(int, N'20240115');
INSERT INTO [#tidegate_1] ([tidegate_0], [tidegate_1], [tidegate_2]) SELECT [cobid], [it's a "note"], [b] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WITH (UPDLOCK, HOLDLOCK);
UPDATE t SET [it's a "note"] = s.[tidegate_1], [b] = s.[tidegate_2] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" AS t WITH (UPDLOCK, HOLDLOCK) JOIN [#tidegate_1] AS s ON [t].[cobid] = [s].[tidegate_0];
DROP TABLE IF EXISTS [#tidegate_1];
