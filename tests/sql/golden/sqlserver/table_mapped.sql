SELECT COUNT_BIG(*) FROM (SELECT [it's a "note"] AS [note] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE (
region = 'EU' -- {others}
)) AS tidegate_source;
SELECT COUNT_BIG(*), COALESCE(SUM(copies), 0) FROM (SELECT COUNT_BIG(*) AS copies FROM [sales]."odd ""orders"" `of` [x] {y} 100%" GROUP BY [load_id] HAVING COUNT_BIG(*) > 1) AS doubled;
SELECT COUNT_BIG(*), COALESCE(SUM(copies), 0) FROM (SELECT COUNT_BIG(*) AS copies FROM (SELECT [it's a "note"] AS [note] FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE (
region = 'EU' -- {others}
)) AS tidegate_source WHERE [note] IS NULL GROUP BY [load_id] HAVING COUNT_BIG(*) > 1) AS doubled;
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
