SELECT version FROM "odd schema"."snap's" WHERE component = 'it''s' ORDER BY version DESC;
