SELECT name, content FROM "tidegate"."notes" WHERE topic = 'alert';
BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('tidegate notes', 0));
DELETE FROM "tidegate"."notes" WHERE topic = 'alert' AND name = 'it''s late';
SELECT to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."notes" (topic, name, content, at) VALUES ('alert', 'it''s late', '{"since": "today"}', 'now');
DELETE FROM "tidegate"."notes" WHERE topic = 'alert' AND name = 'gone';
COMMIT;
