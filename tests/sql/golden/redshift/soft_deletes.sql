SELECT count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE NOT ("is gone" IS NOT NULL AND "is gone" = CAST('1' AS boolean));
SELECT CASE WHEN EXISTS (SELECT 1 FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "is gone" IS NOT NULL AND "is gone" = CAST('1' AS boolean)) THEN 1 ELSE 0 END;
