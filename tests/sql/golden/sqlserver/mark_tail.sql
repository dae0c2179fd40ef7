SELECT COUNT_BIG(*), CONVERT(nvarchar(50), max([changed at]), 121) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [changed at] IS NOT NULL AND 1 = 1;
SELECT COUNT_BIG(*), CONVERT(nvarchar(50), max([changed at]), 121) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [changed at] IS NOT NULL AND [changed at] >= CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121);
