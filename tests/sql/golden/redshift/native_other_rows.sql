SELECT CASE WHEN EXISTS (SELECT 1 FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" IS NULL OR NOT ("cobid" = CAST('20240131' AS integer))) THEN 1 ELSE 0 END;
