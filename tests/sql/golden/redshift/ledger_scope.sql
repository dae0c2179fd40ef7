SELECT scope FROM "tidegate"."scopes" WHERE table_name = 'it''s';
