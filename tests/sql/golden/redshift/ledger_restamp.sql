UPDATE "tidegate"."ledger"
SET stamp = '1204-99', newest = '{"version": 2, "token": {"token": "partition", "version": 1, "newest": "2024-01-31 10:00:00"}, "target_rows": null, "target_hash": ""}', columns = '[]', columns_id = 'abc'
WHERE table_name = 'it''s' AND value_text = '7' AND generation = 3;
