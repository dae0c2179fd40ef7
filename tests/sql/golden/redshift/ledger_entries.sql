SELECT l.value_text, l.generation, l.kind, l.row_total, l.hash, l.text_columns, l.newest, l.columns, l.columns_id, l.stamp, l.run, l.at
FROM "tidegate"."ledger" AS l
JOIN (SELECT value_text, max(generation) AS generation FROM "tidegate"."ledger" WHERE table_name = 'it''s'
      GROUP BY value_text) AS newest
  ON newest.value_text = l.value_text AND newest.generation = l.generation
WHERE l.table_name = 'it''s';
