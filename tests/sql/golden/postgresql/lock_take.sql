SELECT pg_try_advisory_lock(hashtextextended('tidegate table it''s', 0));
SELECT to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
DELETE FROM "tidegate"."locks" WHERE table_name = 'it''s';
INSERT INTO "tidegate"."locks" (table_name, run, holder, since) VALUES ('it''s', 'r-1', 'r-1 (somebody on a machine, process 1)', 'now');
