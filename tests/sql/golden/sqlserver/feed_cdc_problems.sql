SELECT CAST(is_cdc_enabled AS int) FROM sys.databases WHERE database_id = DB_ID();
SELECT t.capture_instance, CONVERT(varchar(22), t.start_lsn, 1),
  CONVERT(varchar(22), sys.fn_cdc_get_min_lsn(t.capture_instance), 1), c.column_name
FROM cdc.change_tables AS t JOIN cdc.captured_columns AS c ON c.object_id = t.object_id
WHERE t.source_object_id = OBJECT_ID(N'[sales].[odd "orders" `of` [x]] {y} 100%]') ORDER BY t.create_date, t.capture_instance, c.column_ordinal;
