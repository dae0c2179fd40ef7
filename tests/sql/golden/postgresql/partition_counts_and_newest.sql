SELECT CAST("cobid" AS text), count(*), CAST(max("load_id") AS text)
FROM "sales"."odd ""orders"" {x} 100%" WHERE "cobid" IN (CAST('20240131' AS integer)) GROUP BY "cobid";
