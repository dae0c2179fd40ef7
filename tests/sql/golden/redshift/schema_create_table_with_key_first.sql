CREATE TABLE "public"."t" ("cobid" integer NOT NULL, "code" character varying(80) NOT NULL, PRIMARY KEY ("cobid", "code")) SORTKEY ("cobid");
