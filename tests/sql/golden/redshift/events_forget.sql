DELETE FROM "tidegate"."cdc_events" WHERE table_name = 'it''s' AND captured_at < '2024-01-31T10:00:00';
