DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 5d6222b927ac1301 table it''s', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0, @DbPrincipal = N'public';
SELECT @answer;
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
DELETE FROM [tidegate].[locks] WHERE table_name = N'it''s';
INSERT INTO [tidegate].[locks] (table_name, run, holder, since) VALUES (N'it''s', N'r-1', N'r-1 (somebody on a machine, process 1)', N'now+00:00');
