SELECT TOP (100001) CONVERT(nvarchar(50), [cobid]) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] IS NOT NULL GROUP BY [cobid];
