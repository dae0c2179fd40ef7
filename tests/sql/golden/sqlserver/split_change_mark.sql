SELECT COUNT_BIG(*), CONVERT(nvarchar(50), MAX([it's a "note"])) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
SELECT CONVERT(nvarchar(50), SUM(CONVERT(bigint, BINARY_CHECKSUM([cobid], [it's a "note"])))), COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [cobid] = CONVERT(int, N'20240131');
