SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'tidegate', 'pg_internal', 'catalog_history', 'pg_automv')
AND n.nspname NOT LIKE 'pg_temp%' AND n.nspname NOT LIKE 'pg_toast%'
AND HAS_TABLE_PRIVILEGE(c.oid, 'SELECT') ORDER BY 1, 2;
