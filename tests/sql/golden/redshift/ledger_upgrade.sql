SELECT owner, version FROM "tidegate"."target";
SELECT CURRENT_NAMESPACE || '/' || CURRENT_DATABASE();
SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'ledger';
SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'guard';
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE IF NOT EXISTS "tidegate"."guard" (held smallint);
SET statement_timeout TO 300000;
BEGIN;
LOCK TABLE "tidegate"."guard";
SET statement_timeout TO 0;
SELECT owner, version FROM "tidegate"."target";
SELECT table_name, value_text, generation, newest FROM "tidegate"."ledger";
UPDATE "tidegate"."ledger" SET newest = '{"version": 2, "token": {"token": "partition", "version": 1, "newest": "2024-01-31 10:00:00"}, "target_rows": null, "target_hash": ""}'
WHERE table_name = 'it''s' AND value_text = '7' AND generation = 3;
UPDATE "tidegate"."target" SET version = 2;
SELECT CURRENT_NAMESPACE || '/' || CURRENT_DATABASE();
COMMIT;
