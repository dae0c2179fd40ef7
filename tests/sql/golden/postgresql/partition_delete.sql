DELETE FROM "sales"."odd ""orders"" {x} 100%" WHERE "it's a ""note""" = CAST('it''s' AS character varying(20));
