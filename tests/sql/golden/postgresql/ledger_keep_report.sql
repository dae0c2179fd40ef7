SELECT to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."runs" (run, at, report) VALUES ('r-1', 'now', '{"it''s": "{\"a\": \"\\n\"}"}');
