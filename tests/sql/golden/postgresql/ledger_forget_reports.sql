DELETE FROM "tidegate"."runs" WHERE run NOT IN (SELECT run FROM "tidegate"."runs" ORDER BY at DESC LIMIT 500);
