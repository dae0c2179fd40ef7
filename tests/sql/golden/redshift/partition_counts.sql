SELECT CAST("cobid" AS character varying(65535)), count(*), NULL
FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" IN (CAST('20240131' AS integer), CAST('20240201' AS integer)) GROUP BY "cobid";
