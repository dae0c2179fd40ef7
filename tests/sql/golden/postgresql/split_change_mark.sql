SELECT CAST(sum(hashtextextended(CAST(ROW("cobid", "it's a ""note""") AS text), 0)) AS text), count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" = CAST('20240131' AS integer);
