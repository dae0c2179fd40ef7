CREATE TABLE "public"."t" ("cobid" integer NOT NULL, "code" character varying(20) NOT NULL, PRIMARY KEY ("cobid", "code"));
