SELECT count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "it's a ""note""" IS NULL;
