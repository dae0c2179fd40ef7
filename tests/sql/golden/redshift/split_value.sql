SELECT "cobid", "code" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" = CAST('20240131' AS integer);
