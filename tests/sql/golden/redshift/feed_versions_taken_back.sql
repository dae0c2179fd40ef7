DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "start" > CAST('2024-01-31 10:00:00.000001' AS timestamp without time zone);
UPDATE "sales"."odd ""orders"" `of` [x] {y} 100%" SET "end" = NULL, "is current" = CAST('1' AS boolean) WHERE "end" > CAST('2024-01-31 10:00:00.000001' AS timestamp without time zone);
