BEGIN TRANSACTION;
DECLARE @answer int;
EXEC @answer = sp_getapplock @Resource = N'tidegate 4bd379cf820b6262 value it''s 7', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = 300000, @DbPrincipal = N'public';
SELECT @answer;
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
