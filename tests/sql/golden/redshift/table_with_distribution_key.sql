CREATE SCHEMA IF NOT EXISTS "sales";
CREATE TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ("sk" bigint IDENTITY(1,1), "cobid" integer NOT NULL, "code" character varying(80) NOT NULL, PRIMARY KEY ("cobid")) DISTSTYLE KEY DISTKEY ("code") SORTKEY ("code", "cobid");
