SELECT [cobid], [it's a "note"] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] = CONVERT(int, N'20240131');
