SELECT n.nspname, c.relname, CAST(c.reltuples AS bigint), HAS_TABLE_PRIVILEGE(c.oid, 'SELECT'),
 a.attname, FORMAT_TYPE(a.atttypid, a.atttypmod), a.attnotnull,
 COALESCE(PG_GET_EXPR(d.adbin, d.adrelid), '')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'v') AND (LOWER(n.nspname) = 'sales' AND LOWER(c.relname) = 'odd "orders" `of` [x] {y} 100%' OR LOWER(n.nspname) = 'public' AND LOWER(c.relname) = 't') ORDER BY n.nspname, c.relname, a.attnum;
SELECT n.nspname, c.relname, PG_GET_CONSTRAINTDEF(k.oid)
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE k.contype IN ('p', 'u') AND (LOWER(n.nspname) = 'sales' AND LOWER(c.relname) = 'odd "orders" `of` [x] {y} 100%' OR LOWER(n.nspname) = 'public' AND LOWER(c.relname) = 't') ORDER BY k.oid;
