CREATE SCHEMA IF NOT EXISTS "odd schema";
CREATE TABLE "odd schema"."snap's" ("record_uuid" uuid NOT NULL, "row_hash" character varying(64) NOT NULL, "AAG ORDER NUMBER" character varying(255) NOT NULL, "line]""`" character varying(255) NOT NULL, "CUSTOMER NAME" character varying(255), "snapshot_date" timestamp(6) without time zone NOT NULL, "customer_filter" character varying(255) NOT NULL, "batch_id" uuid, "parquet_archive_id" bigint, "key_hash" bytea, PRIMARY KEY ("record_uuid"));
CREATE INDEX "ix_snap's_key" ON "odd schema"."snap's" ("batch_id", "key_hash");
CREATE INDEX "ix_snap's_date" ON "odd schema"."snap's" ("customer_filter", "snapshot_date");
