CREATE TEMPORARY TABLE "pg_temp"."tidegate_1" AS SELECT "cobid" AS "tidegate_0", "it's a ""note""" AS "tidegate_1", "b" AS "tidegate_2" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WITH NO DATA;
COPY "pg_temp"."tidegate_1" ("tidegate_0", "tidegate_1", "tidegate_2") FROM STDIN (FORMAT csv);
-- then its rows:
-- 7,"it's","\x78"
-- 8,"",
UPDATE "sales"."odd ""orders"" `of` [x] {y} 100%" AS t SET "b" = s."tidegate_2" FROM "pg_temp"."tidegate_1" AS s WHERE "t"."cobid" = "s"."tidegate_0" AND ("t"."it's a ""note""" = "s"."tidegate_1" AND CAST("t"."it's a ""note""" AS text) COLLATE "C" = CAST("s"."tidegate_1" AS text) COLLATE "C");
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" AS t USING "pg_temp"."tidegate_1" AS s WHERE "t"."cobid" = "s"."tidegate_0" AND ("t"."it's a ""note""" = "s"."tidegate_1" AND CAST("t"."it's a ""note""" AS text) COLLATE "C" = CAST("s"."tidegate_1" AS text) COLLATE "C");
COPY (SELECT "cobid", "it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE EXISTS (SELECT 1 FROM "pg_temp"."tidegate_1" AS s WHERE "s"."tidegate_0" = "cobid" AND ("s"."tidegate_1" = "it's a ""note""" AND CAST("s"."tidegate_1" AS text) COLLATE "C" = CAST("it's a ""note""" AS text) COLLATE "C"))) TO STDOUT (FORMAT binary);
DROP TABLE IF EXISTS "pg_temp"."tidegate_1";
