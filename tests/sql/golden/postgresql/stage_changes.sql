CREATE TEMPORARY TABLE "pg_temp"."tidegate_1" AS SELECT "cobid" AS "tidegate_0", "it's a ""note""" AS "tidegate_1", "b" AS "tidegate_2" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WITH NO DATA;
COPY "pg_temp"."tidegate_1" ("tidegate_0", "tidegate_1", "tidegate_2") FROM STDIN (FORMAT binary);
-- then 50 47 43 4f 50 59 0a ff 0d 0a 00 00 00 00 00 00 00 00 00
-- then 00 03 00 00 00 04 00 00 00 07 00 00 00 04 69 74 27 73 00 00 00 01 78 00 03 00 00 00 04 00 00 00 08 00 00 00 00 ff ff ff ff
-- then ff ff
UPDATE "sales"."odd ""orders"" `of` [x] {y} 100%" AS t SET "b" = s."tidegate_2" FROM "pg_temp"."tidegate_1" AS s WHERE "t"."cobid" = "s"."tidegate_0" AND ("t"."it's a ""note""" = "s"."tidegate_1" AND CAST("t"."it's a ""note""" AS text) COLLATE "C" = CAST("s"."tidegate_1" AS text) COLLATE "C");
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" AS t USING "pg_temp"."tidegate_1" AS s WHERE "t"."cobid" = "s"."tidegate_0" AND ("t"."it's a ""note""" = "s"."tidegate_1" AND CAST("t"."it's a ""note""" AS text) COLLATE "C" = CAST("s"."tidegate_1" AS text) COLLATE "C");
COPY (SELECT "cobid", "it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE EXISTS (SELECT 1 FROM "pg_temp"."tidegate_1" AS s WHERE "s"."tidegate_0" = "cobid" AND ("s"."tidegate_1" = "it's a ""note""" AND CAST("s"."tidegate_1" AS text) COLLATE "C" = CAST("it's a ""note""" AS text) COLLATE "C"))) TO STDOUT (FORMAT binary);
COPY (SELECT "cobid", "it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE EXISTS (SELECT 1 FROM (SELECT DISTINCT "tidegate_0" FROM "pg_temp"."tidegate_1" ORDER BY "tidegate_0") AS s WHERE "s"."tidegate_0" = "cobid")) TO STDOUT (FORMAT binary);
DROP TABLE IF EXISTS "pg_temp"."tidegate_1";
