SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'ledger';
SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE LOWER(n.nspname) = 'tidegate' AND LOWER(c.relname) = 'guard';
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE IF NOT EXISTS "tidegate"."guard" (held smallint);
SET statement_timeout TO 300000;
BEGIN;
LOCK TABLE "tidegate"."guard";
SET statement_timeout TO 0;
COMMIT;
