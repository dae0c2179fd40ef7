-- a file .tidegate/tmp/1/part-0001.parquet:
-- {'cobid': 7, 'it\'s a "note"': 'say "hi", it\'s\n\\.\n', 'b': b'\x00\xff'}
-- {'cobid': 8, 'it\'s a "note"': None, 'b': b''}
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
INSERT INTO "sales"."odd ""orders"" `of` [x] {y} 100%" ("cobid", "it's a ""note""", "b") SELECT "tidegate_0", CAST("tidegate_1" AS character varying(80)), "tidegate_2" FROM "tidegate_copy_1";
SELECT n.nspname, c.relname, CAST(c.reltuples AS bigint), HAS_TABLE_PRIVILEGE(c.oid, 'SELECT'),
 a.attname, FORMAT_TYPE(a.atttypid, a.atttypmod), a.attnotnull,
 COALESCE(PG_GET_EXPR(d.adbin, d.adrelid), '')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'v') AND (LOWER(n.nspname) = 'sales' AND LOWER(c.relname) = 'odd "orders" `of` [x] {y} 100%') ORDER BY n.nspname, c.relname, a.attnum;
SELECT n.nspname, c.relname, PG_GET_CONSTRAINTDEF(k.oid)
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE k.contype IN ('p', 'u') AND (LOWER(n.nspname) = 'sales' AND LOWER(c.relname) = 'odd "orders" `of` [x] {y} 100%') ORDER BY k.oid;
DROP TABLE IF EXISTS "tidegate_copy_1";
