SELECT n.nspname, c.relname, CAST(c.reltuples AS bigint), HAS_TABLE_PRIVILEGE(c.oid, 'SELECT'),
 a.attname, FORMAT_TYPE(a.atttypid, a.atttypmod), a.attnotnull,
 COALESCE(PG_GET_EXPR(d.adbin, d.adrelid), '')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'v') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'snapshot_versions') ORDER BY n.nspname, c.relname, a.attnum;
SELECT n.nspname, c.relname, PG_GET_CONSTRAINTDEF(k.oid)
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE k.contype IN ('p', 'u') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'snapshot_versions') ORDER BY k.oid;
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
WHERE c.relkind IN ('r', 'v') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'snapshot_versions') ORDER BY n.nspname, c.relname, a.attnum;
SELECT n.nspname, c.relname, PG_GET_CONSTRAINTDEF(k.oid)
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE k.contype IN ('p', 'u') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'snapshot_versions') ORDER BY k.oid;
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."snapshot_versions" ("component" character varying(800) NOT NULL, "version" integer NOT NULL, "at" character varying(160) NOT NULL, PRIMARY KEY ("component", "version"));
SELECT n.nspname, c.relname, CAST(c.reltuples AS bigint), HAS_TABLE_PRIVILEGE(c.oid, 'SELECT'),
 a.attname, FORMAT_TYPE(a.atttypid, a.atttypmod), a.attnotnull,
 COALESCE(PG_GET_EXPR(d.adbin, d.adrelid), '')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'v') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'snapshot_versions') ORDER BY n.nspname, c.relname, a.attnum;
SELECT n.nspname, c.relname, PG_GET_CONSTRAINTDEF(k.oid)
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE k.contype IN ('p', 'u') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'snapshot_versions') ORDER BY k.oid;
CREATE INDEX "ix" ON "odd schema"."snap's" ("a");
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."snapshot_versions" (component, version, at) VALUES ('it''s', 1, 'now');
COMMIT;
