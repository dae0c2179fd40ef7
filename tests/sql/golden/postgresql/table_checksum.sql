SELECT CAST(sum(hashtextextended(CAST(ROW("cobid", "it's a ""note""") AS text), 0)) AS text), count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
