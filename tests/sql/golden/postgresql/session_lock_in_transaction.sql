BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('tidegate value it''s 7', 0));
COMMIT;
