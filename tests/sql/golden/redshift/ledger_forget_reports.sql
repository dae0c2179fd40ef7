SELECT run FROM "tidegate"."runs" ORDER BY at DESC;
DELETE FROM "tidegate"."runs" WHERE run = 'r-1';
