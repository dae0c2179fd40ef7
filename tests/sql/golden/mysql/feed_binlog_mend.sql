SET GLOBAL binlog_format = ROW;
SET GLOBAL binlog_row_metadata = FULL;
SET GLOBAL binlog_row_image = FULL;
SET GLOBAL log_bin_compress = OFF;
SET GLOBAL binlog_transaction_compression = OFF;
SET GLOBAL binlog_row_value_options = '';
