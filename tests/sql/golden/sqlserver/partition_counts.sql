SELECT CONVERT(nvarchar(50), [cobid]), COUNT_BIG(*), NULL
FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] IN (CONVERT(int, N'20240131'), CONVERT(int, N'20240201')) GROUP BY [cobid];
