SELECT CASE WHEN EXISTS (SELECT 1 FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("cobid" = CAST('20240115' AS integer)) AND ("it's a ""note""" IS NOT NULL OR "b" IS NOT NULL)) THEN 1 ELSE 0 END;
SELECT CASE WHEN EXISTS (SELECT 1 FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "it's a ""note""" IS NOT NULL) THEN 1 ELSE 0 END;
CREATE TEMPORARY TABLE "pg_temp"."tidegate_1" AS SELECT "cobid" AS "tidegate_0", "it's a ""note""" AS "tidegate_1", "b" AS "tidegate_2" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WITH NO DATA;
INSERT INTO "pg_temp"."tidegate_1" ("tidegate_0", "tidegate_1", "tidegate_2") SELECT "cobid", "it's a ""note""", "b" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" = CAST('20240115' AS integer) FOR UPDATE;
INSERT INTO "pg_temp"."tidegate_1" ("tidegate_0", "tidegate_1", "tidegate_2") SELECT "cobid", "it's a ""note""", "b" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" FOR UPDATE;
UPDATE "sales"."odd ""orders"" `of` [x] {y} 100%" AS t SET "it's a ""note""" = s."tidegate_1", "b" = s."tidegate_2" FROM "pg_temp"."tidegate_1" AS s WHERE "t"."cobid" = "s"."tidegate_0";
DROP TABLE IF EXISTS "pg_temp"."tidegate_1";
