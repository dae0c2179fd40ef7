EXEC sys.sp_cdc_enable_table @source_schema = N'sales', @source_name = N'odd "orders" `of` [x] {y} 100%', @role_name = NULL, @supports_net_changes = 0;
