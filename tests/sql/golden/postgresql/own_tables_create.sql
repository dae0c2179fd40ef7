BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('tidegate own tables', 0));
SELECT n.nspname, c.relname, greatest(c.reltuples, 0)::bigint,
       has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'),
       coalesce(pg_get_partkeydef(c.oid), ''),
       coalesce((SELECT min(i.inhparent::regclass::text) FROM pg_inherits i WHERE i.inhrelid = c.oid), ''), a.attname,
       format_type(a.atttypid, a.atttypmod),
       format_type(b.oid, b.typmod),
       CASE WHEN b.typnamespace = 'pg_catalog'::regnamespace AND coalesce(k.collisdeterministic, true)
            THEN b.typname ELSE '' END,
       NOT (a.attnotnull OR t.typnotnull), a.attgenerated <> '', a.attidentity <> '', a.atthasdef, b.typtype = 'e',
       coalesce(nullif(k.collname, 'default'), ''), has_column_privilege(c.oid, a.attnum, 'SELECT')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_collation k ON k.oid = a.attcollation
JOIN LATERAL (
    WITH RECURSIVE below(oid, typmod) AS (
        SELECT a.atttypid, a.atttypmod
        UNION ALL
        SELECT d.typbasetype, d.typtypmod FROM below JOIN pg_type d ON d.oid = below.oid AND d.typtype = 'd'
    )
    SELECT s.oid, below.typmod, s.typname, s.typnamespace, s.typtype
    FROM below JOIN pg_type s ON s.oid = below.oid AND s.typtype <> 'd'
) AS b ON true
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r))
ORDER BY n.nspname, c.relname, a.attnum;
-- with [['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['schema_versions', 'watermarks', 'incremental_metrics', 'cdc_events', 'data_gaps', 'scd_history', 'late_arriving_data', 'incremental_config', 'duplicate_records']]
SELECT n.nspname, c.relname, i.indisprimary, i.indisunique AND 0 <> ALL (i.indkey),
       array(SELECT a.attname FROM unnest(i.indkey[0:i.indnkeyatts - 1]) WITH ORDINALITY AS k(num, place)
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num ORDER BY k.place)
FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class x ON x.oid = i.indexrelid
JOIN pg_am m ON m.oid = x.relam AND m.amname = 'btree'
WHERE i.indisvalid AND i.indpred IS NULL AND i.indkey[0] <> 0
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r))
ORDER BY i.indexrelid;
-- with [['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['schema_versions', 'watermarks', 'incremental_metrics', 'cdc_events', 'data_gaps', 'scd_history', 'late_arriving_data', 'incremental_config', 'duplicate_records']]
SELECT n.nspname, c.relname, 'triggers', t.tgname
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r))
UNION ALL
SELECT n.nspname, c.relname, k.way, k.other
FROM pg_constraint o
CROSS JOIN LATERAL (VALUES ('referenced_by', o.confrelid, o.conrelid::regclass::text),
                           ('cascades_to', CASE WHEN o.confdeltype IN ('c', 'n', 'd') THEN o.confrelid END,
                            o.conrelid::regclass::text),
                           ('references', o.conrelid, o.confrelid::regclass::text)) AS k(way, this, other)
JOIN pg_class c ON c.oid = k.this JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE o.contype = 'f' AND o.conparentid = 0
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r))
UNION ALL
SELECT n.nspname, c.relname, 'row_security', ''
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relrowsecurity AND row_security_active(c.oid)
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r));
-- with [['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['schema_versions', 'watermarks', 'incremental_metrics', 'cdc_events', 'data_gaps', 'scd_history', 'late_arriving_data', 'incremental_config', 'duplicate_records'], ['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['schema_versions', 'watermarks', 'incremental_metrics', 'cdc_events', 'data_gaps', 'scd_history', 'late_arriving_data', 'incremental_config', 'duplicate_records'], ['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['schema_versions', 'watermarks', 'incremental_metrics', 'cdc_events', 'data_gaps', 'scd_history', 'late_arriving_data', 'incremental_config', 'duplicate_records']]
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."schema_versions" ("part" character varying(128) NOT NULL, "version" integer NOT NULL, "at" character varying(40) NOT NULL, PRIMARY KEY ("part"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."watermarks" ("pipeline_id" character varying(100) NOT NULL, "source_id" character varying(200) NOT NULL, "watermark_column" character varying(128) NOT NULL, "watermark_value" character varying(400), "value_type" character varying(30) NOT NULL, "strategy" character varying(30) NOT NULL, "load_id" character varying(64), "updated_at" character varying(40) NOT NULL, "updated_by" character varying(200) NOT NULL, "reason" text, PRIMARY KEY ("pipeline_id", "source_id", "watermark_column"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."incremental_metrics" ("load_id" character varying(64) NOT NULL, "pipeline_id" character varying(100) NOT NULL, "source_id" character varying(200) NOT NULL, "target_table" character varying(300) NOT NULL, "strategy" character varying(30) NOT NULL, "load_type" character varying(30) NOT NULL, "watermark_column" character varying(128), "watermark_before" character varying(400), "watermark_after" character varying(400), "records_extracted" bigint NOT NULL, "records_written" bigint NOT NULL, "records_inserted" bigint, "records_updated" bigint, "records_deleted" bigint, "records_unchanged" bigint, "duplicates_removed" bigint NOT NULL, "late_records" bigint NOT NULL, "milliseconds" bigint NOT NULL, "status" character varying(30) NOT NULL, "finished_at" character varying(40) NOT NULL, PRIMARY KEY ("load_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."cdc_events" ("event_id" character varying(64) NOT NULL, "table_name" character varying(300) NOT NULL, "operation" character varying(30) NOT NULL, "log_position" character varying(200) NOT NULL, "event_key" text, "before_image" text, "after_image" text, "captured_at" character varying(40) NOT NULL, PRIMARY KEY ("event_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."data_gaps" ("gap_id" character varying(64) NOT NULL, "pipeline_id" character varying(100) NOT NULL, "source_id" character varying(200) NOT NULL, "watermark_column" character varying(128) NOT NULL, "gap_type" character varying(30) NOT NULL, "first_missing" character varying(400) NOT NULL, "last_missing" character varying(400) NOT NULL, "missing_count" bigint, "status" character varying(30) NOT NULL, "reason" text, "found_at" character varying(40) NOT NULL, PRIMARY KEY ("gap_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."scd_history" ("history_id" character varying(64) NOT NULL, "target_table" character varying(300) NOT NULL, "business_key" text NOT NULL, "effective_from" character varying(400) NOT NULL, "version" text NOT NULL, "load_id" character varying(64) NOT NULL, "recorded_at" character varying(40) NOT NULL, PRIMARY KEY ("history_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."late_arriving_data" ("record_id" character varying(64) NOT NULL, "pipeline_id" character varying(100) NOT NULL, "source_id" character varying(200) NOT NULL, "watermark_column" character varying(128) NOT NULL, "watermark_value" character varying(400), "record" text NOT NULL, "reason" text NOT NULL, "found_at" character varying(40) NOT NULL, "record_key" text, "record_hash" character varying(64), PRIMARY KEY ("record_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."incremental_config" ("pipeline_id" character varying(100) NOT NULL, "source_id" character varying(200) NOT NULL, "settings" text NOT NULL, "updated_at" character varying(40) NOT NULL, "updated_by" character varying(200) NOT NULL, PRIMARY KEY ("pipeline_id", "source_id"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."duplicate_records" ("record_id" character varying(64) NOT NULL, "pipeline_id" character varying(100) NOT NULL, "source_id" character varying(200) NOT NULL, "key_columns" character varying(400) NOT NULL, "rule" character varying(200) NOT NULL, "record" text NOT NULL, "found_at" character varying(40) NOT NULL, PRIMARY KEY ("record_id"));
SELECT version FROM "tidegate"."schema_versions" WHERE part = 'own tables';
DELETE FROM "tidegate"."schema_versions" WHERE part = 'own tables';
SELECT to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."schema_versions" ("part", "version", "at") VALUES ('own tables', 2, 'now');
COMMIT;
