SELECT COUNT_BIG(*), COUNT_BIG(CASE WHEN [changed at] < CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) THEN 1 END) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
SELECT COUNT_BIG(*), COUNT_BIG(CASE WHEN [changed at] < CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) AND CASE WHEN 1 = 1 THEN 0 ELSE 1 END = 1 THEN 1 END) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
