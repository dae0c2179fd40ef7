-- a file .tidegate/tmp/1/part-0001.parquet:
-- {'a': 'x', 'b': "it's"}
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
CREATE TEMP TABLE "tidegate_copy_1" ("tidegate_0" character varying(65535), "tidegate_1" character varying(65535)) DISTSTYLE EVEN;
COPY "tidegate_copy_1" FROM 's3://bucket/.tidegate/tmp/1/manifest' IAM_ROLE 'arn:role' FORMAT AS PARQUET MANIFEST;
SELECT count(*) FROM "tidegate_copy_1";
SELECT CAST("cobid" AS character varying(65535)) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("code", OCTET_LENGTH("code")) IN (SELECT "tidegate_0", OCTET_LENGTH("tidegate_0") FROM "tidegate_copy_1") GROUP BY "cobid";
SELECT CAST("it's a ""note""" AS character varying(65535)) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("code", OCTET_LENGTH("code"), "it's a ""note""", OCTET_LENGTH("it's a ""note""")) IN (SELECT "tidegate_0", OCTET_LENGTH("tidegate_0"), "tidegate_1", OCTET_LENGTH("tidegate_1") FROM "tidegate_copy_1") GROUP BY "it's a ""note""", OCTET_LENGTH("it's a ""note""");
DROP TABLE IF EXISTS "tidegate_copy_1";
