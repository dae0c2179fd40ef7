SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at
FROM [tidegate].[ledger] WHERE table_name = N'it''s' AND value_text = N'7' ORDER BY generation DESC;
