SELECT CONVERT(nvarchar(4000), [it's a "note"]) COLLATE Latin1_General_100_BIN2 FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [it's a "note"] IS NOT NULL ORDER BY [it's a "note"] OFFSET 300000 ROWS FETCH NEXT 1 ROWS ONLY;
SELECT CONVERT(nvarchar(4000), [it's a "note"]) COLLATE Latin1_General_100_BIN2 FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [it's a "note"] > CONVERT(nvarchar(40), N'7') ORDER BY [it's a "note"] OFFSET 299999 ROWS FETCH NEXT 1 ROWS ONLY;
SELECT [it's a "note"] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE ([it's a "note"] < CONVERT(nvarchar(40), N'7') OR [it's a "note"] IS NULL);
SELECT [it's a "note"] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [it's a "note"] >= CONVERT(nvarchar(40), N'7') AND [it's a "note"] < CONVERT(nvarchar(40), N'7');
SELECT [it's a "note"] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [it's a "note"] >= CONVERT(nvarchar(40), N'7');
