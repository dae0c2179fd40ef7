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
WHERE c.relkind IN ('r', 'v') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'target' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'scopes' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'runs' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'locks' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'stages' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'ledger') ORDER BY n.nspname, c.relname, a.attnum;
SELECT n.nspname, c.relname, PG_GET_CONSTRAINTDEF(k.oid)
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE k.contype IN ('p', 'u') AND (LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'target' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'scopes' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'runs' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'locks' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'stages' OR LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'ledger') ORDER BY k.oid;
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."target" ("owner" character varying(800) NOT NULL, "version" integer NOT NULL, "at" character varying(160) NOT NULL, PRIMARY KEY ("owner"));
SELECT owner, version FROM "tidegate"."target";
SELECT CURRENT_NAMESPACE || '/' || CURRENT_DATABASE();
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."target" (owner, version, at) VALUES ('1/2', 2, 'now');
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."scopes" ("table_name" character varying(1200) NOT NULL, "scope" character varying(65535) NOT NULL, PRIMARY KEY ("table_name"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."runs" ("run" character varying(256) NOT NULL, "at" character varying(160) NOT NULL, "report" character varying(65535) NOT NULL, PRIMARY KEY ("run"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."locks" ("table_name" character varying(1200) NOT NULL, "run" character varying(256) NOT NULL, "holder" character varying(800) NOT NULL, "since" character varying(160) NOT NULL, PRIMARY KEY ("table_name"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."stages" ("name" character varying(1200) NOT NULL, "table_name" character varying(1200) NOT NULL, "partition_name" character varying(1200) NOT NULL, "purpose" character varying(80) NOT NULL, "run" character varying(256) NOT NULL, "details" character varying(65535) NOT NULL, "at" character varying(160) NOT NULL, PRIMARY KEY ("name"));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE "tidegate"."ledger" ("table_name" character varying(1200) NOT NULL, "value_text" character varying(1600) NOT NULL, "generation" integer NOT NULL, "kind" character varying(80) NOT NULL, "row_total" bigint NOT NULL, "hash" character varying(256) NOT NULL, "text_columns" character varying(65535) NOT NULL, "newest" character varying(65535), "columns" character varying(65535) NOT NULL, "columns_id" character varying(256) NOT NULL, "stamp" character varying(320) NOT NULL, "run" character varying(256) NOT NULL, "at" character varying(160) NOT NULL, PRIMARY KEY ("table_name", "value_text", "generation"));
COMMIT;
