CREATE SCHEMA IF NOT EXISTS "sales";
CREATE TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ("cobid" integer NOT NULL, "code" character varying(80) NOT NULL, PRIMARY KEY ("code")) SORTKEY ("cobid");
