SELECT SCHEMA_NAME(t.schema_id) AS its_schema, t.name FROM sys.tables AS t
WHERE t.is_ms_shipped = 0 AND SCHEMA_NAME(t.schema_id) NOT IN ('tidegate', 'cdc', 'sys')
ORDER BY its_schema, t.name;
