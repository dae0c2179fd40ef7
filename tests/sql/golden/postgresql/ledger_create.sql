BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('tidegate ledger', 0));
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
-- with [['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['target', 'scopes', 'runs', 'locks', 'stages', 'ledger']]
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
-- with [['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['target', 'scopes', 'runs', 'locks', 'stages', 'ledger']]
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
-- with [['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['target', 'scopes', 'runs', 'locks', 'stages', 'ledger'], ['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['target', 'scopes', 'runs', 'locks', 'stages', 'ledger'], ['tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate', 'tidegate'], ['target', 'scopes', 'runs', 'locks', 'stages', 'ledger']]
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."target" ("owner" character varying(200) NOT NULL, "version" integer NOT NULL, "at" character varying(40) NOT NULL, PRIMARY KEY ("owner"));
SELECT owner, version FROM "tidegate"."target";
SELECT system_identifier::text || '/' || oid::text
FROM pg_control_system(), pg_database
WHERE datname = current_database();
SELECT to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."target" (owner, version, at) VALUES ('1/2', 2, 'now');
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."scopes" ("table_name" character varying(300) NOT NULL, "scope" text NOT NULL, PRIMARY KEY ("table_name"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."runs" ("run" character varying(64) NOT NULL, "at" character varying(40) NOT NULL, "report" text NOT NULL, PRIMARY KEY ("run"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."locks" ("table_name" character varying(300) NOT NULL, "run" character varying(64) NOT NULL, "holder" character varying(200) NOT NULL, "since" character varying(40) NOT NULL, PRIMARY KEY ("table_name"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."stages" ("name" character varying(300) NOT NULL, "table_name" character varying(300) NOT NULL, "partition_name" character varying(300) NOT NULL, "purpose" character varying(20) NOT NULL, "run" character varying(64) NOT NULL, "details" text NOT NULL, "at" character varying(40) NOT NULL, PRIMARY KEY ("name"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."ledger" ("table_name" character varying(300) NOT NULL, "value_text" character varying(400) NOT NULL, "generation" integer NOT NULL, "kind" character varying(20) NOT NULL, "row_total" bigint NOT NULL, "hash" character varying(64) NOT NULL, "text_columns" text NOT NULL, "newest" text, "columns" text NOT NULL, "columns_id" character varying(64) NOT NULL, "stamp" character varying(80) NOT NULL, "run" character varying(64) NOT NULL, "at" character varying(40) NOT NULL, PRIMARY KEY ("table_name", "value_text", "generation"));
COMMIT;
