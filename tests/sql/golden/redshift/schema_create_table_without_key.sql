CREATE SCHEMA IF NOT EXISTS "sales";
CREATE TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ("cobid" integer NOT NULL, "it's a ""note""" character varying(80)) SORTKEY ("cobid");
