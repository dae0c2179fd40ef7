SELECT generation, kind, row_total, hash, text_columns, newest, columns, columns_id, stamp, run, at
FROM "tidegate"."ledger" WHERE table_name = 'it''s' AND value_text = '7' ORDER BY generation DESC;
