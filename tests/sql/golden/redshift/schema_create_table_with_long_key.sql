CREATE SCHEMA IF NOT EXISTS "sales";
CREATE TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ("cobid" integer NOT NULL, "long" character varying(65535) NOT NULL, PRIMARY KEY ("cobid", "long")) SORTKEY ("long");
