SELECT name FROM (VALUES ('public.mood'), ('it''s.odd[]')) AS asked(name) WHERE to_regtype(name) IS NULL;
