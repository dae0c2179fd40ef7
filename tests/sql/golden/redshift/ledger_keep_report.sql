SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."runs" (run, at, report) VALUES ('r-1', 'now', ('{"it''s": "{' || CHR(92) || '"a' || CHR(92) || '": ' || CHR(92) || '"' || CHR(92) || CHR(92) || 'n' || CHR(92) || '"}"}'));
