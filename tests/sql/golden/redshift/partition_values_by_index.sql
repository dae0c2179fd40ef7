SELECT CAST("value" AS character varying(65535)) FROM (SELECT DISTINCT "cobid" AS value FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" IS NOT NULL) AS found LIMIT 100001;
