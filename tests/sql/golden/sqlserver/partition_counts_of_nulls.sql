SELECT CONVERT(nvarchar(50), [cobid]), COUNT_BIG(*), NULL
FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] IS NULL GROUP BY [cobid];
SELECT CONVERT(nvarchar(50), [cobid]), COUNT_BIG(*), NULL
FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([cobid] IS NULL OR [cobid] = CONVERT(int, N'20240131')) GROUP BY [cobid];
