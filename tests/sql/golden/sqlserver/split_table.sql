SELECT CONVERT(nvarchar(50), [cobid]) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] IS NOT NULL ORDER BY [cobid] OFFSET 300000 ROWS FETCH NEXT 1 ROWS ONLY;
SELECT CONVERT(nvarchar(50), [cobid]) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] > CONVERT(int, N'7') ORDER BY [cobid] OFFSET 299999 ROWS FETCH NEXT 1 ROWS ONLY;
SELECT [cobid] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] < CONVERT(int, N'7');
SELECT [cobid] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] >= CONVERT(int, N'7') AND [cobid] < CONVERT(int, N'7');
SELECT [cobid] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] >= CONVERT(int, N'7');
