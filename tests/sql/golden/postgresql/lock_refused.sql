SELECT pg_try_advisory_lock(hashtextextended('tidegate table it''s', 0));
SELECT holder, since FROM "tidegate"."locks" WHERE table_name = 'it''s';
