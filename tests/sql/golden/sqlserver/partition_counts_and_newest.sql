SELECT CONVERT(nvarchar(50), [cobid]), COUNT_BIG(*), CONVERT(nvarchar(50), max([load_id]))
FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] = CONVERT(int, N'20240131') GROUP BY [cobid];
