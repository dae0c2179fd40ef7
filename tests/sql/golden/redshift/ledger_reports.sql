SELECT report FROM "tidegate"."runs" ORDER BY at DESC LIMIT 20;
