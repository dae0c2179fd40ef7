SELECT CONVERT(nvarchar(50), max([changed at]), 121), CONVERT(nvarchar(50), max([changed at]), 121) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
SELECT CONVERT(nvarchar(50), max([changed at]), 121), CONVERT(nvarchar(50), max(CASE WHEN [changed at] <= CONVERT(datetime2(3), N'2024-01-31 12:00:00.125', 121) THEN [changed at] END), 121) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
