ALTER TABLE "sales"."odd ""orders"" {x} 100%" ALTER COLUMN "it's a ""note""" TYPE character varying(20);
