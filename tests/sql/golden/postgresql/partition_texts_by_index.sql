WITH RECURSIVE seek(value) AS (
  (SELECT held."it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" AS held WHERE held."it's a ""note""" IS NOT NULL ORDER BY held."it's a ""note""" LIMIT 1)
  UNION ALL
  SELECT (SELECT held."it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" AS held WHERE held."it's a ""note""" > seek.value ORDER BY held."it's a ""note""" LIMIT 1)
  FROM seek WHERE seek.value IS NOT NULL
)
SELECT CAST(value AS text) FROM seek WHERE value IS NOT NULL LIMIT 100001;
