SELECT count(*), CAST(max("changed at") AS character varying(65535)) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "changed at" IS NOT NULL AND 1 = 1;
SELECT count(*), CAST(max("changed at") AS character varying(65535)) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "changed at" IS NOT NULL AND "changed at" >= CAST('2024-01-31 12:00:00.125' AS timestamp without time zone);
