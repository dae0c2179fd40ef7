SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [changed at] IS NULL;
SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([changed at] > CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) OR ([changed at] = CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) AND [is latest] > CONVERT(bit, N'1')));
SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([changed at] > CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) OR ([changed at] = CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) AND [is latest] IS NOT NULL AND [is latest] >= CONVERT(bit, N'1')));
SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [changed at] >= CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) AND [changed at] <= CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121);
SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([changed at] >= CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) OR [is latest] = CONVERT(bit, N'1')) AND [changed at] <= CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121);
SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE 1 = 1 AND [changed at] <= CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121);
SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [changed at] IS NOT NULL AND [changed at] >= CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121);
SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [changed at] < CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) AND [is latest] = CONVERT(bit, N'1');
SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [changed at] > CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121);
