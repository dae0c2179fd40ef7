ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ALTER COLUMN "it's a ""note""" TYPE character varying(80);
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ALTER COLUMN "cobid" TYPE integer;
