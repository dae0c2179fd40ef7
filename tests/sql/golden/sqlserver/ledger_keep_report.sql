SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[runs] (run, at, report) VALUES (N'r-1', N'now+00:00', N'{"it''s": "{\"a\": \"\\n\"}"}');
