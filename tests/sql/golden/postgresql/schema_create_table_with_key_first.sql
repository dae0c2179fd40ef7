CREATE TABLE "public"."t" ("cobid" integer NOT NULL, "it's a ""note""" character varying(20), PRIMARY KEY ("cobid", "it's a ""note"""));
