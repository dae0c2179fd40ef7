CREATE SCHEMA IF NOT EXISTS "sales";
CREATE TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ("cobid" integer NOT NULL, "code" character varying(20) NOT NULL, PRIMARY KEY ("code"));
CREATE INDEX ON "sales"."odd ""orders"" `of` [x] {y} 100%" ("cobid");
