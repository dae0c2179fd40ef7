SELECT p.partstrat, p.partnatts, coalesce(a.attname, ''), pg_get_partkeydef(c.oid)
FROM pg_partitioned_table AS p JOIN pg_class AS c ON c.oid = p.partrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0] AND a.attnum > 0
WHERE n.nspname = 'sales' AND c.relname = 'odd "orders" `of` [x] {y} 100%';
SELECT n.nspname, c.relname, pg_get_expr(c.relpartbound, c.oid), c.reltuples::bigint, c.relkind,
       coalesce(s.spcname, '')
FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_class AS parent ON parent.oid = i.inhparent
JOIN pg_namespace AS m ON m.oid = parent.relnamespace
LEFT JOIN pg_tablespace AS s ON s.oid = c.reltablespace
WHERE m.nspname = 'sales' AND parent.relname = 'odd "orders" `of` [x] {y} 100%' AND NOT i.inhdetachpending
ORDER BY c.oid;
