SELECT CASE WHEN EXISTS (SELECT 1 FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("cobid" = CAST('20240115' AS integer)) AND ("it's a ""note""" IS NOT NULL OR "b" IS NOT NULL)) THEN 1 ELSE 0 END;
SELECT CASE WHEN EXISTS (SELECT 1 FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "it's a ""note""" IS NOT NULL) THEN 1 ELSE 0 END;
CREATE TEMP TABLE "tidegate_1" ("tidegate_0" integer, "tidegate_1" character varying(80), "tidegate_2" binary varying(1024000)) DISTSTYLE EVEN;
INSERT INTO "tidegate_1" ("tidegate_0", "tidegate_1", "tidegate_2") SELECT "cobid", "it's a ""note""", "b" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" = CAST('20240115' AS integer);
INSERT INTO "tidegate_1" ("tidegate_0", "tidegate_1", "tidegate_2") SELECT "cobid", "it's a ""note""", "b" FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
UPDATE "sales"."odd ""orders"" `of` [x] {y} 100%" SET "it's a ""note""" = "tidegate_1"."tidegate_1", "b" = "tidegate_1"."tidegate_2" FROM "tidegate_1" WHERE "sales"."odd ""orders"" `of` [x] {y} 100%"."cobid" = "tidegate_1"."tidegate_0";
DROP TABLE IF EXISTS "tidegate_1";
