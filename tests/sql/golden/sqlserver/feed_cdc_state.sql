SELECT CONVERT(varchar(22), sys.fn_cdc_get_max_lsn(), 1);
SELECT MAX(retention) FROM msdb.dbo.cdc_jobs WHERE database_id = DB_ID() AND job_type = N'cleanup' AND HAS_PERMS_BY_NAME(N'msdb.dbo.cdc_jobs', 'OBJECT', 'SELECT') = 1;
SELECT t.capture_instance, CONVERT(varchar(22), t.start_lsn, 1),
  CONVERT(varchar(22), sys.fn_cdc_get_min_lsn(t.capture_instance), 1), c.column_name
FROM cdc.change_tables AS t JOIN cdc.captured_columns AS c ON c.object_id = t.object_id
WHERE t.source_object_id = OBJECT_ID(N'[sales].[odd "orders" `of` [x]] {y} 100%]') ORDER BY t.create_date, t.capture_instance, c.column_ordinal;
SELECT COUNT_BIG(*) FROM cdc.[fn_cdc_get_all_changes_sales_orders](CONVERT(binary(10), N'0x0000002a000001f80004', 1), CONVERT(binary(10), N'0x0000002a000001f90001', 1), N'all update old') AS c WHERE c.__$operation <> 3;
