SELECT n.nspname, c.relname,
       CASE WHEN NOT (has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'))
            THEN 'this login may not read it'
            WHEN NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0
                             AND NOT a.attisdropped) THEN 'it has no columns'
            WHEN c.relkind = 'v' THEN 'a view' WHEN c.relkind = 'm' THEN 'a materialized view'
            ELSE 'a foreign table' END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'tidegate') AND n.nspname NOT LIKE 'pg\_%'
  AND NOT (c.relkind IN ('r', 'p') AND has_schema_privilege(n.oid, 'USAGE')
           AND has_any_column_privilege(c.oid, 'SELECT')
           AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
ORDER BY 1, 2;
