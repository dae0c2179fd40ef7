SELECT n.nspname, c.relname, pg_get_indexdef(c.oid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace s ON s.oid = t.relnamespace
WHERE s.nspname = 'sales' AND t.relname = 'odd "orders" `of` [x] {y} 100%' AND t.relkind = 'r' AND NOT t.relispartition
  AND pg_has_role(t.relowner, 'USAGE') AND has_schema_privilege(s.oid, 'CREATE')
  AND i.indisvalid AND NOT (i.indisunique OR i.indisprimary OR i.indisclustered OR i.indisreplident)
  AND c.reltablespace = 0 AND obj_description(c.oid, 'pg_class') IS NULL
  AND NOT EXISTS (SELECT 1 FROM pg_constraint o WHERE o.conindid = c.oid)
  AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attstattarget > 0)
ORDER BY c.oid;
DROP INDEX "sales"."by name";
CREATE INDEX x ON sales (a);
