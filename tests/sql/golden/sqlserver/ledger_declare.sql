BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 46c9ea51f9128645 scope it''s', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
DELETE FROM [tidegate].[scopes] WHERE table_name = N'it''s';
INSERT INTO [tidegate].[scopes] (table_name, scope) VALUES (N'it''s', N'{"kind": "integer", "floor": "20240131", "ranges": [], "forgotten": []}');
COMMIT TRANSACTION;
