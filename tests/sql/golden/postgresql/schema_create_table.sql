CREATE SCHEMA IF NOT EXISTS "sales";
CREATE TABLE "sales"."odd ""orders"" {x} 100%" ("cobid" integer NOT NULL, "it's a ""note""" character varying(20), PRIMARY KEY ("it's a ""note"""));
CREATE INDEX ON "sales"."odd ""orders"" {x} 100%" ("cobid");
