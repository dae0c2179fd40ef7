SELECT CASE WHEN EXISTS (SELECT 1 FROM "sales"."odd ""orders"" `of` [x] {y} 100%") THEN 1 ELSE 0 END;
