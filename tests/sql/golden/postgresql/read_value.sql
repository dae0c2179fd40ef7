COPY (SELECT "cobid", CAST("price" AS numeric) FROM "sales"."odd ""orders"" {x} 100%" WHERE "cobid" = CAST('20240131' AS integer)) TO STDOUT (FORMAT csv);
