BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('tidegate scope it''s', 0));
DELETE FROM "tidegate"."scopes" WHERE table_name = 'it''s';
INSERT INTO "tidegate"."scopes" (table_name, scope) VALUES ('it''s', '{"kind": "integer", "floor": "20240131", "ranges": [], "forgotten": []}');
COMMIT;
