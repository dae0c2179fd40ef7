DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [p] = CONVERT(tinyint, N'7');
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [p] = CONVERT(datetime, N'2024-01-31 10:00:00.003', 121);
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [p] = CONVERT(datetime2(7), N'2024-01-31 10:00:00.5', 121);
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [p] = CONVERT(binary(8), CONVERT(bigint, N'2001'));
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([p] = CONVERT(varchar(20), N'it''s' COLLATE Latin1_General_CI_AS) AND CONVERT(varbinary(8000), [p]) = CONVERT(varbinary(8000), CONVERT(varchar(20), N'it''s' COLLATE Latin1_General_CI_AS)));
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([p] = CONVERT(nvarchar(max), N'it''s') AND CONVERT(varbinary(max), [p]) = CONVERT(varbinary(max), CONVERT(nvarchar(max), N'it''s')));
