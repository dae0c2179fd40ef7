WITH RECURSIVE seek(value) AS (
  (SELECT held."cobid" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" AS held WHERE held."cobid" IS NOT NULL ORDER BY held."cobid" LIMIT 1)
  UNION ALL
  SELECT (SELECT held."cobid" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" AS held WHERE held."cobid" > seek.value ORDER BY held."cobid" LIMIT 1)
  FROM seek WHERE seek.value IS NOT NULL
)
SELECT CAST(value AS text) FROM seek WHERE value IS NOT NULL LIMIT 100001;
