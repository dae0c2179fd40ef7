SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'ledger';
SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'guard';
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE IF NOT EXISTS "tidegate"."guard" (held smallint);
SET statement_timeout TO 300000;
BEGIN;
LOCK TABLE "tidegate"."guard";
SET statement_timeout TO 0;
SELECT n.nspname, c.relname, CAST(c.reltuples AS bigint), HAS_TABLE_PRIVILEGE(c.oid, 'SELECT'),
 a.attname, FORMAT_TYPE(a.atttypid, a.atttypmod), a.attnotnull,
 COALESCE(PG_GET_EXPR(d.adbin, d.adrelid), '')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'v') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'schema_versions' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'watermarks' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'incremental_metrics' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'cdc_events' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'data_gaps' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'scd_history' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'late_arriving_data' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'incremental_config' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'duplicate_records') ORDER BY n.nspname, c.relname, a.attnum;
SELECT n.nspname, c.relname, PG_GET_CONSTRAINTDEF(k.oid)
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE k.contype IN ('p', 'u') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'schema_versions' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'watermarks' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'incremental_metrics' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'cdc_events' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'data_gaps' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'scd_history' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'late_arriving_data' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'incremental_config' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'duplicate_records') ORDER BY k.oid;
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."schema_versions" ("part" character varying(512) NOT NULL, "version" integer NOT NULL, "at" character varying(160) NOT NULL, PRIMARY KEY ("part"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."watermarks" ("pipeline_id" character varying(400) NOT NULL, "source_id" character varying(800) NOT NULL, "watermark_column" character varying(512) NOT NULL, "watermark_value" character varying(1600), "value_type" character varying(120) NOT NULL, "strategy" character varying(120) NOT NULL, "load_id" character varying(256), "updated_at" character varying(160) NOT NULL, "updated_by" character varying(800) NOT NULL, "reason" character varying(65535), PRIMARY KEY ("pipeline_id", "source_id", "watermark_column"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."incremental_metrics" ("load_id" character varying(256) NOT NULL, "pipeline_id" character varying(400) NOT NULL, "source_id" character varying(800) NOT NULL, "target_table" character varying(1200) NOT NULL, "strategy" character varying(120) NOT NULL, "load_type" character varying(120) NOT NULL, "watermark_column" character varying(512), "watermark_before" character varying(1600), "watermark_after" character varying(1600), "records_extracted" bigint NOT NULL, "records_written" bigint NOT NULL, "records_inserted" bigint, "records_updated" bigint, "records_deleted" bigint, "records_unchanged" bigint, "duplicates_removed" bigint NOT NULL, "late_records" bigint NOT NULL, "milliseconds" bigint NOT NULL, "status" character varying(120) NOT NULL, "finished_at" character varying(160) NOT NULL, PRIMARY KEY ("load_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."cdc_events" ("event_id" character varying(256) NOT NULL, "table_name" character varying(1200) NOT NULL, "operation" character varying(120) NOT NULL, "log_position" character varying(800) NOT NULL, "event_key" character varying(65535), "before_image" character varying(65535), "after_image" character varying(65535), "captured_at" character varying(160) NOT NULL, PRIMARY KEY ("event_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."data_gaps" ("gap_id" character varying(256) NOT NULL, "pipeline_id" character varying(400) NOT NULL, "source_id" character varying(800) NOT NULL, "watermark_column" character varying(512) NOT NULL, "gap_type" character varying(120) NOT NULL, "first_missing" character varying(1600) NOT NULL, "last_missing" character varying(1600) NOT NULL, "missing_count" bigint, "status" character varying(120) NOT NULL, "reason" character varying(65535), "found_at" character varying(160) NOT NULL, PRIMARY KEY ("gap_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."scd_history" ("history_id" character varying(256) NOT NULL, "target_table" character varying(1200) NOT NULL, "business_key" character varying(65535) NOT NULL, "effective_from" character varying(1600) NOT NULL, "version" character varying(65535) NOT NULL, "load_id" character varying(256) NOT NULL, "recorded_at" character varying(160) NOT NULL, PRIMARY KEY ("history_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."late_arriving_data" ("record_id" character varying(256) NOT NULL, "pipeline_id" character varying(400) NOT NULL, "source_id" character varying(800) NOT NULL, "watermark_column" character varying(512) NOT NULL, "watermark_value" character varying(1600), "record" character varying(65535) NOT NULL, "reason" character varying(65535) NOT NULL, "found_at" character varying(160) NOT NULL, "record_key" character varying(65535), "record_hash" character varying(256), PRIMARY KEY ("record_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."incremental_config" ("pipeline_id" character varying(400) NOT NULL, "source_id" character varying(800) NOT NULL, "settings" character varying(65535) NOT NULL, "updated_at" character varying(160) NOT NULL, "updated_by" character varying(800) NOT NULL, PRIMARY KEY ("pipeline_id", "source_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."duplicate_records" ("record_id" character varying(256) NOT NULL, "pipeline_id" character varying(400) NOT NULL, "source_id" character varying(800) NOT NULL, "key_columns" character varying(1600) NOT NULL, "rule" character varying(800) NOT NULL, "record" character varying(65535) NOT NULL, "found_at" character varying(160) NOT NULL, PRIMARY KEY ("record_id"));
SELECT version FROM "tidegate"."schema_versions" WHERE part = 'own tables';
DELETE FROM "tidegate"."schema_versions" WHERE part = 'own tables';
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."schema_versions" ("part", "version", "at") VALUES ('own tables', 2, 'now');
COMMIT;
