ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ADD COLUMN "it's a ""note""" character varying(80);
