WITH found AS (
  SELECT MIN([cobid]) AS value FROM [sales]."odd ""orders"" `of` [x] {y} 100%"
  UNION ALL
  SELECT next_one.value FROM (
    SELECT t.[cobid] AS value, ROW_NUMBER() OVER (ORDER BY t.[cobid]) AS place
    FROM [sales]."odd ""orders"" `of` [x] {y} 100%" AS t JOIN found ON t.[cobid] > found.value) AS next_one
  WHERE next_one.place = 1)
SELECT TOP (100001) CONVERT(nvarchar(50), [value]) FROM found WHERE value IS NOT NULL OPTION (MAXRECURSION 0);
