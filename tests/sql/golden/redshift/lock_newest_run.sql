SELECT run FROM "tidegate"."locks" WHERE table_name = 'it''s';
