SELECT CAST("cobid" AS text), count(*), NULL
FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" IS NULL GROUP BY "cobid";
SELECT CAST("cobid" AS text), count(*), NULL
FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("cobid" IS NULL OR "cobid" = CAST('20240131' AS integer)) GROUP BY "cobid";
