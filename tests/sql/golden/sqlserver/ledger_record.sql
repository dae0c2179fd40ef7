SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121);
INSERT INTO [tidegate].[ledger] (table_name, value_text, generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at) VALUES (N'it''s', N'7', 3, N'loaded', 1204, N'0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f', N'["it''s"]', N'2024-01-31 10:00:00', N'[]', N'abc', N'1204-99', N'r-1', N'now+00:00');
