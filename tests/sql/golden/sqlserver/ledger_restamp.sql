UPDATE [tidegate].[ledger]
SET stamp = N'1204-99', newest = N'{"version": 2, "token": {"token": "partition", "version": 1, "newest": "2024-01-31 10:00:00"}, "target_rows": null, "target_hash": ""}', columns = N'[]', columns_id = N'abc'
WHERE table_name = N'it''s' AND value_text = N'7' AND generation = 3;
