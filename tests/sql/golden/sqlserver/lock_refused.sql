DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 5d6222b927ac1301 table it''s', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
SELECT holder, since FROM [tidegate].[locks] WHERE table_name = N'it''s';
