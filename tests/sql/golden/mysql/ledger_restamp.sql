UPDATE `none`.`tidegate_ledger`
SET stamp = '1204-99', newest = '2024-01-31 10:00:00', columns = '[]', columns_id = 'abc'
WHERE table_name = 'it''s' AND value_text = '7' AND generation = 3;
