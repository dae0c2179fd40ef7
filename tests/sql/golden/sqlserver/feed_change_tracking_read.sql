DECLARE @all nvarchar(10) = NULL;
SELECT @all = COALESCE(@all, N'') + v FROM (VALUES (N'a'), (N'b')) AS two (v);
SELECT d.snapshot_isolation_state, d.is_read_committed_snapshot_on, LEN(@all),
       CONVERT(int, SERVERPROPERTY('EngineEdition')), OBJECT_ID(N'sys.security_predicates'),
       HAS_PERMS_BY_NAME(N'cdc.change_tables', 'OBJECT', 'SELECT'),
       CONVERT(nvarchar(20), DATABASEPROPERTYEX(DB_NAME(), 'Updateability')),
       CASE WHEN HAS_PERMS_BY_NAME(N'sys.sql_expression_dependencies', 'OBJECT', 'SELECT') = 1
             AND HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DEFINITION') = 1 THEN 1 ELSE 0 END,
       (SELECT MAX(1) FROM sys.all_columns AS c
        WHERE c.object_id = OBJECT_ID(N'sys.columns') AND c.name = N'vector_base_type')
FROM sys.databases AS d WHERE d.name = DB_NAME();
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
SELECT CHANGE_TRACKING_CURRENT_VERSION(), CHANGE_TRACKING_MIN_VALID_VERSION(o.id),
  (SELECT CONCAT(c.begin_version, '-', i.object_id) FROM sys.change_tracking_tables AS c
   LEFT JOIN sys.internal_tables AS i ON i.parent_object_id = c.object_id
     AND i.internal_type_desc = 'CHANGE_TRACKING' WHERE c.object_id = o.id),
  CASE WHEN d.database_id IS NULL THEN 0 ELSE 1 END,
  CASE WHEN EXISTS (SELECT 1 FROM sys.change_tracking_tables AS c WHERE c.object_id = o.id)
    THEN 1 ELSE 0 END,
  HAS_PERMS_BY_NAME(N'[sales].[odd "orders" `of` [x]] {y} 100%]', 'OBJECT', 'VIEW CHANGE TRACKING'),
  CASE WHEN DATABASEPROPERTYEX(DB_NAME(), 'Updateability') = 'READ_WRITE' THEN 1 ELSE 0 END,
  d.retention_period, d.retention_period_units_desc, CAST(d.is_auto_cleanup_on AS int)
FROM (SELECT OBJECT_ID(N'[sales].[odd "orders" `of` [x]] {y} 100%]') AS id) AS o
LEFT JOIN sys.change_tracking_databases AS d ON d.database_id = DB_ID();
SELECT [tidegate_operation], [tidegate_version], [cobid], [code] FROM (SELECT ct.SYS_CHANGE_OPERATION AS tidegate_operation, ct.SYS_CHANGE_VERSION AS tidegate_version, [ct].[cobid], [ct].[code]
FROM CHANGETABLE(CHANGES [sales]."odd ""orders"" `of` [x] {y} 100%", 40) AS ct) AS changes
ORDER BY tidegate_version;
SELECT CHANGE_TRACKING_CURRENT_VERSION(), CHANGE_TRACKING_MIN_VALID_VERSION(o.id),
  (SELECT CONCAT(c.begin_version, '-', i.object_id) FROM sys.change_tracking_tables AS c
   LEFT JOIN sys.internal_tables AS i ON i.parent_object_id = c.object_id
     AND i.internal_type_desc = 'CHANGE_TRACKING' WHERE c.object_id = o.id),
  CASE WHEN d.database_id IS NULL THEN 0 ELSE 1 END,
  CASE WHEN EXISTS (SELECT 1 FROM sys.change_tracking_tables AS c WHERE c.object_id = o.id)
    THEN 1 ELSE 0 END,
  HAS_PERMS_BY_NAME(N'[sales].[odd "orders" `of` [x]] {y} 100%]', 'OBJECT', 'VIEW CHANGE TRACKING'),
  CASE WHEN DATABASEPROPERTYEX(DB_NAME(), 'Updateability') = 'READ_WRITE' THEN 1 ELSE 0 END,
  d.retention_period, d.retention_period_units_desc, CAST(d.is_auto_cleanup_on AS int)
FROM (SELECT OBJECT_ID(N'[sales].[odd "orders" `of` [x]] {y} 100%]') AS id) AS o
LEFT JOIN sys.change_tracking_databases AS d ON d.database_id = DB_ID();
