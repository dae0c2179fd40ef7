SELECT pg_total_relation_size(c.oid) FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'sales' AND c.relname = 'odd "orders" `of` [x] {y} 100%';
