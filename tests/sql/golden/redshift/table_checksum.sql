SELECT CAST(SUM(CAST(FNV_HASH("it's a ""note""", FNV_HASH("cobid")) AS numeric(38,0))) AS character varying(50)), count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
