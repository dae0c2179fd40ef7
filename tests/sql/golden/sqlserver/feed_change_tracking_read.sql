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
