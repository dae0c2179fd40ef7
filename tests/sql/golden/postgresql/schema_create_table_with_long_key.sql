CREATE SCHEMA IF NOT EXISTS "sales";
CREATE TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ("cobid" integer NOT NULL, "long" text NOT NULL, PRIMARY KEY ("cobid", "long"));
CREATE INDEX ON "sales"."odd ""orders"" `of` [x] {y} 100%" ("long");
