DELETE FROM "tidegate"."ledger";
DELETE FROM "tidegate"."target";
DELETE FROM "tidegate"."locks";
SELECT system_identifier::text || '/' || oid::text
FROM pg_control_system(), pg_database
WHERE datname = current_database();
SELECT to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."target" (owner, version, at) VALUES ('1/2', 2, 'now');
