-- a file .tidegate/tmp/1/part-0001.parquet:
-- {'a': 7, 'b': "it's", 'c': b'x'}
-- {'a': 8, 'b': '', 'c': None}
-- a file .tidegate/tmp/1/manifest:
-- {
--  "entries": [
--   {
--    "url": "s3://bucket/.tidegate/tmp/1/part-0001.parquet",
--    "mandatory": true,
--    "meta": {
--     "content_length": 1
--    }
--   }
--  ]
-- }
CREATE TEMP TABLE "tidegate_copy_1" ("tidegate_0" integer, "tidegate_1" character varying(65535), "tidegate_2" binary varying(1024000)) DISTSTYLE EVEN;
COPY "tidegate_copy_1" FROM 's3://bucket/.tidegate/tmp/1/manifest' IAM_ROLE 'arn:role' FORMAT AS PARQUET MANIFEST;
SELECT count(*) FROM "tidegate_copy_1";
UPDATE "sales"."odd ""orders"" `of` [x] {y} 100%" SET "b" = "tidegate_copy_1"."tidegate_2" FROM "tidegate_copy_1" WHERE "sales"."odd ""orders"" `of` [x] {y} 100%"."cobid" = "tidegate_copy_1"."tidegate_0" AND ("sales"."odd ""orders"" `of` [x] {y} 100%"."it's a ""note""" = "tidegate_copy_1"."tidegate_1" AND OCTET_LENGTH("sales"."odd ""orders"" `of` [x] {y} 100%"."it's a ""note""") = OCTET_LENGTH("tidegate_copy_1"."tidegate_1"));
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" USING "tidegate_copy_1" WHERE "sales"."odd ""orders"" `of` [x] {y} 100%"."cobid" = "tidegate_copy_1"."tidegate_0" AND ("sales"."odd ""orders"" `of` [x] {y} 100%"."it's a ""note""" = "tidegate_copy_1"."tidegate_1" AND OCTET_LENGTH("sales"."odd ""orders"" `of` [x] {y} 100%"."it's a ""note""") = OCTET_LENGTH("tidegate_copy_1"."tidegate_1"));
SELECT "cobid", "it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("cobid", "it's a ""note""", OCTET_LENGTH("it's a ""note""")) IN (SELECT "tidegate_0", "tidegate_1", OCTET_LENGTH("tidegate_1") FROM "tidegate_copy_1");
SELECT "cobid", "it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("cobid") IN (SELECT "tidegate_0" FROM "tidegate_copy_1");
DROP TABLE IF EXISTS "tidegate_copy_1";
