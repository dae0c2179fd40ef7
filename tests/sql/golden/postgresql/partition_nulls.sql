SELECT count(*) FROM "sales"."odd ""orders"" {x} 100%" WHERE "it's a ""note""" IS NULL;
