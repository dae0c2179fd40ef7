SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[stages] (name, table_name, partition_name, purpose, run, details, at) VALUES (N'sales."odd ""orders""_STAGE_1"', N'sales."odd ""orders"" `of` [x] {y} 100%"', N'p20240131', N'stage', N'r-1', N'{"windows": {"20240131": 3}, "whole": true}', N'now+00:00');
DELETE FROM [tidegate].[stages] WHERE name = N'sales."odd ""orders""_STAGE_1"';
SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[stages] (name, table_name, partition_name, purpose, run, details, at) VALUES (N'sales."odd ""orders""_STAGE_1"', N'sales."odd ""orders"" `of` [x] {y} 100%"', N'p20240131', N'stage', N'r-1', N'{"windows": {"20240131": 3}, "whole": true}', N'now+00:00');
SELECT name, table_name, partition_name, purpose, run, details, at FROM [tidegate].[stages] ORDER BY at, name;
SELECT name, table_name, partition_name, purpose, run, details, at FROM [tidegate].[stages] WHERE table_name = N'sales."odd ""orders"" `of` [x] {y} 100%"' ORDER BY at, name;
DROP TABLE IF EXISTS [sales].[odd "orders"_STAGE_1];
DELETE FROM [tidegate].[stages] WHERE name = N'sales."odd ""orders""_STAGE_1"';
