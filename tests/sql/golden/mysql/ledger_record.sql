SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f+00:00');
INSERT INTO `none`.`tidegate_ledger` (table_name, value_text, generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at) VALUES ('it''s', '7', 3, 'loaded', 1204, '0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f', '["it''s"]', '2024-01-31 10:00:00', '[]', 'abc', '1204-99', 'r-1', 'now');
