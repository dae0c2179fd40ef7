SELECT CASE WHEN EXISTS (SELECT 1 FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" IS NOT NULL) THEN 1 ELSE 0 END;
SELECT CASE WHEN EXISTS (SELECT 1 FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" IS NOT NULL AND NOT ("cobid" = CAST('20240131' AS integer))) THEN 1 ELSE 0 END;
