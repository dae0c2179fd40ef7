DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a int64] = CONVERT(bigint, N'20240131');
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a uint64] = CONVERT(decimal(20,0), N'20240131');
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a decimal(10,2)] = CONVERT(decimal(10,2), N'1.5');
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a date] = CONVERT(date, N'2024-01-31', 23);
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a timestamp(3)] = CONVERT(datetime2(3), N'2024-01-31 10:00:00.5', 121);
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a instant(6)] = CONVERT(datetimeoffset(6), N'2024-01-31 10:00:00', 121);
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([a string(20)] = CONVERT(nvarchar(40), N'it''s') AND CONVERT(varbinary(8000), [a string(20)]) = CONVERT(varbinary(8000), CONVERT(nvarchar(40), N'it''s')));
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([a char(3)] = CONVERT(nvarchar(6), N'a') AND CONVERT(varbinary(8000), [a char(3)]) = CONVERT(varbinary(8000), CONVERT(nvarchar(6), N'a')));
DELETE FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a uuid] = CONVERT(uniqueidentifier, N'0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57');
