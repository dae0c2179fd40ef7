EXEC sys.sp_cdc_disable_table @source_schema = N'sales', @source_name = N'odd "orders" `of` [x] {y} 100%', @capture_instance = N'all';
