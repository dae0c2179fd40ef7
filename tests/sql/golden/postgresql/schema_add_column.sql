ALTER TABLE "sales"."odd ""orders"" {x} 100%" ADD COLUMN "it's a ""note""" character varying(20);
