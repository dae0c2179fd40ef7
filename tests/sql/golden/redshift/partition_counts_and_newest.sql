SELECT CAST("cobid" AS character varying(65535)), count(*), CAST(max("load_id") AS character varying(65535))
FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" = CAST('20240131' AS integer) GROUP BY "cobid";
