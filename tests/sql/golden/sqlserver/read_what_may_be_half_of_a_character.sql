SELECT [note] FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
SELECT COUNT_BIG(CASE WHEN CHARINDEX(NCHAR(65533) COLLATE Latin1_General_100_BIN2, CONVERT(nvarchar(max), [note]) COLLATE Latin1_General_100_BIN2) > 0 THEN 1 END) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
