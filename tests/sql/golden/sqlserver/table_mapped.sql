SELECT COUNT_BIG(*) FROM (SELECT [it's a "note"] AS [note] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE (
region = 'EU' -- {others}
)) AS tidegate_source;
SELECT COUNT_BIG(*) FROM (SELECT [it's a "note"] AS [note] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE (
region = 'EU' -- {others}
)) AS tidegate_source WHERE [note] IS NULL;
SELECT COUNT_BIG(*), COUNT_BIG(CASE WHEN (
region = 'EU' -- {others}
) THEN 1 END) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [it's a "note"] IS NOT NULL AND [note] IS NULL AND (
region = 'EU' -- {others}
);
SELECT CONVERT(nvarchar(50), [it's a "note"]) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [it's a "note"] IS NOT NULL AND [note] IS NULL AND (
region = 'EU' -- {others}
) ORDER BY [it's a "note"] OFFSET 0 ROWS FETCH NEXT 3 ROWS ONLY;
