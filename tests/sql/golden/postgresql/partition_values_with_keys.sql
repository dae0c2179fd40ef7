CREATE TEMPORARY TABLE "pg_temp"."tidegate_1" AS SELECT "code" AS "tidegate_0", "it's a ""note""" AS "tidegate_1" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WITH NO DATA;
COPY "pg_temp"."tidegate_1" ("tidegate_0", "tidegate_1") FROM STDIN (FORMAT binary);
-- then 50 47 43 4f 50 59 0a ff 0d 0a 00 00 00 00 00 00 00 00 00
-- then 00 02 00 00 00 01 78 00 00 00 04 69 74 27 73
-- then ff ff
SELECT CAST("cobid" AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE EXISTS (SELECT 1 FROM "pg_temp"."tidegate_1" AS s WHERE ("s"."tidegate_0" = "code" AND CAST("s"."tidegate_0" AS text) COLLATE "C" = CAST("code" AS text) COLLATE "C")) GROUP BY "cobid";
SELECT CAST("it's a ""note""" AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE EXISTS (SELECT 1 FROM "pg_temp"."tidegate_1" AS s WHERE ("s"."tidegate_0" = "code" AND CAST("s"."tidegate_0" AS text) COLLATE "C" = CAST("code" AS text) COLLATE "C") AND ("s"."tidegate_1" = "it's a ""note""" AND CAST("s"."tidegate_1" AS text) COLLATE "C" = CAST("it's a ""note""" AS text) COLLATE "C")) GROUP BY "it's a ""note""";
DROP TABLE IF EXISTS "pg_temp"."tidegate_1";
