SELECT t.capture_instance, CONVERT(varchar(22), t.start_lsn, 1),
  CONVERT(varchar(22), sys.fn_cdc_get_min_lsn(t.capture_instance), 1), c.column_name
FROM cdc.change_tables AS t JOIN cdc.captured_columns AS c ON c.object_id = t.object_id
WHERE t.source_object_id = OBJECT_ID(N'[sales].[odd "orders" `of` [x]] {y} 100%]') ORDER BY t.create_date, t.capture_instance, c.column_ordinal;
SELECT [tidegate_operation], [tidegate_lsn], [tidegate_time], [cobid], [code] FROM (SELECT c.__$operation AS tidegate_operation, CONVERT(varchar(22), c.__$start_lsn, 1) AS tidegate_lsn,
  DATEADD(MINUTE, DATEDIFF(MINUTE, GETDATE(), GETUTCDATE()), CAST(m.tran_end_time AS datetime2(3))) AS tidegate_time,
  0 AS tidegate_command, c.__$seqval AS tidegate_place, [c].[cobid], [c].[code]
FROM cdc.[fn_cdc_get_all_changes_sales_orders](CONVERT(binary(10), N'0x0000002a000001f80004', 1), CONVERT(binary(10), N'0x0000002a000001f90001', 1), N'all update old') AS c LEFT JOIN cdc.lsn_time_mapping AS m ON m.start_lsn = c.__$start_lsn) AS changes
ORDER BY tidegate_lsn, tidegate_command, tidegate_place, tidegate_operation;
SELECT t.capture_instance, CONVERT(varchar(22), t.start_lsn, 1),
  CONVERT(varchar(22), sys.fn_cdc_get_min_lsn(t.capture_instance), 1), c.column_name
FROM cdc.change_tables AS t JOIN cdc.captured_columns AS c ON c.object_id = t.object_id
WHERE t.source_object_id = OBJECT_ID(N'[sales].[odd "orders" `of` [x]] {y} 100%]') ORDER BY t.create_date, t.capture_instance, c.column_ordinal;
