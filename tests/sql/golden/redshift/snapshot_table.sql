CREATE SCHEMA IF NOT EXISTS "odd schema";
CREATE TABLE "odd schema"."snap's" ("record_uuid" character varying(36) NOT NULL, "row_hash" character varying(256) NOT NULL, "AAG ORDER NUMBER" character varying(1020) NOT NULL, "line]""`" character varying(1020) NOT NULL, "CUSTOMER NAME" character varying(1020), "snapshot_date" timestamp without time zone NOT NULL, "customer_filter" character varying(1020) NOT NULL, "batch_id" character varying(36), "parquet_archive_id" bigint, "key_hash" binary varying(32), PRIMARY KEY ("record_uuid"));
CREATE INDEX "ix_snap's_key" ON "odd schema"."snap's" ("batch_id", "key_hash");
CREATE INDEX "ix_snap's_date" ON "odd schema"."snap's" ("customer_filter", "snapshot_date");
