SELECT count(*) FROM (SELECT "it's a ""note""" AS "note" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE (
region = 'EU' -- {others}
)) AS tidegate_source;
SELECT count(*) FROM (SELECT "it's a ""note""" AS "note" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE (
region = 'EU' -- {others}
)) AS tidegate_source WHERE "note" IS NULL;
SELECT count(*), count(CASE WHEN (
region = 'EU' -- {others}
) THEN 1 END) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
SELECT count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "it's a ""note""" IS NOT NULL AND "note" IS NULL AND (
region = 'EU' -- {others}
);
SELECT CAST("it's a ""note""" AS character varying(65535)) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "it's a ""note""" IS NOT NULL AND "note" IS NULL AND (
region = 'EU' -- {others}
) ORDER BY "it's a ""note""" LIMIT 3;
