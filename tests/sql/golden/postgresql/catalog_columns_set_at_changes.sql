SELECT CAST(a.attname AS text)
FROM pg_trigger AS t
JOIN pg_proc AS p ON p.oid = t.tgfoid
JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND t.tgtype & 19 = 19 AND t.tgqual IS NULL
  AND t.tgattr = CAST('' AS int2vector) AND n.nspname = 'sales' AND c.relname = 'odd "orders" `of` [x] {y} 100%'
  AND CASE p.proname WHEN 'moddatetime' THEN encode(t.tgargs, 'escape') = a.attname || '\000'
      ELSE a.attname ~ '^\w+$' AND p.prosrc ~* ('\mnew\s*\.\s*"?' || a.attname || '"?\s*:?=') END;
