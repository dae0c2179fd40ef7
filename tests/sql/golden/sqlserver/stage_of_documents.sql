SELECT [id] AS [tidegate_0], CONVERT(xml, [doc]) AS [tidegate_1] INTO [#stage] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE 1 = 0
UNION ALL SELECT [id] AS [tidegate_0], CONVERT(xml, [doc]) AS [tidegate_1] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE 1 = 0;
