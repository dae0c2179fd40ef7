SELECT run FROM "tidegate"."runs" ORDER BY at DESC LIMIT 50;
