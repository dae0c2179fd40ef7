SELECT to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."ledger" (table_name, value_text, generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at) VALUES ('it''s', '7', 3, 'loaded', 1204, '0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f', '["it''s"]', '2024-01-31 10:00:00', '[]', 'abc', '1204-99', 'r-1', 'now');
