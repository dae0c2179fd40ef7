SELECT owner, version FROM "tidegate"."target";
SELECT system_identifier::text || '/' || oid::text
FROM pg_control_system(), pg_database
WHERE datname = current_database();
BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('tidegate ledger', 0));
SELECT owner, version FROM "tidegate"."target";
SELECT table_name, value_text, generation, newest FROM "tidegate"."ledger";
UPDATE "tidegate"."ledger" SET newest = '{"version": 2, "token": {"token": "partition", "version": 1, "newest": "2024-01-31 10:00:00"}, "target_rows": null, "target_hash": ""}'
WHERE table_name = 'it''s' AND value_text = '7' AND generation = 3;
UPDATE "tidegate"."target" SET version = 2;
SELECT system_identifier::text || '/' || oid::text
FROM pg_control_system(), pg_database
WHERE datname = current_database();
COMMIT;
