DELETE FROM [tidegate].[cdc_events] WHERE table_name = N'it''s' AND captured_at < N'2024-01-31T10:00:00';
