SELECT CAST("it's a ""note""" AS text), count(*), NULL
FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "it's a ""note""" IN (CAST('it''s' AS character varying(20)), CAST('back\slash' AS character varying(20))) GROUP BY "it's a ""note""";
