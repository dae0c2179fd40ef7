SELECT count(*) FROM (SELECT "it's a ""note""" AS "note" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE (
region = 'EU' -- {others}
)) AS tidegate_source;
SELECT count(*), COALESCE(SUM(copies), 0) FROM (SELECT count(*) AS copies FROM "sales"."odd ""orders"" `of` [x] {y} 100%" GROUP BY "load_id" HAVING count(*) > 1) AS doubled;
SELECT count(*), COALESCE(SUM(copies), 0) FROM (SELECT count(*) AS copies FROM (SELECT "it's a ""note""" AS "note" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE (
region = 'EU' -- {others}
)) AS tidegate_source WHERE "note" IS NULL GROUP BY "load_id" HAVING count(*) > 1) AS doubled;
SELECT count(*) FROM (SELECT "it's a ""note""" AS "note" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE (
region = 'EU' -- {others}
)) AS tidegate_source WHERE "note" IS NULL;
SELECT count(*), count(CASE WHEN (
region = 'EU' -- {others}
) THEN 1 END) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
SELECT count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a date" IS NOT NULL AND CASE WHEN isfinite("a date") AND "a date" >= '0001-01-01' AND "a date" < '10000-01-01' THEN "a date" END IS NULL;
SELECT count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a time" IS NOT NULL AND CASE WHEN "a time" < '24:00:00' THEN "a time" END IS NULL;
SELECT count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a decimal" IS NOT NULL AND CASE WHEN "a decimal" NOT IN ('NaN', 'Infinity', '-Infinity') THEN "a decimal" END IS NULL;
SELECT count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "it's a ""note""" IS NOT NULL AND "note" IS NULL AND (
region = 'EU' -- {others}
);
SELECT CAST("it's a ""note""" AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "it's a ""note""" IS NOT NULL AND "note" IS NULL AND (
region = 'EU' -- {others}
) ORDER BY "it's a ""note""" LIMIT 3;
