SELECT count(*), CAST(MAX("it's a ""note""") AS character varying(65535)) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
SELECT CAST(SUM(CAST(FNV_HASH("it's a ""note""", FNV_HASH("cobid")) AS numeric(38,0))) AS character varying(50)), count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" = CAST('20240131' AS integer);
