SET @master_binlog_checksum = @@global.binlog_checksum;
SET @source_binlog_checksum = @@global.binlog_checksum;
SET @mariadb_slave_capability = 4;
SET @slave_connect_state = '0-7-4711';
SET @slave_gtid_strict_mode = 0;
SET @master_binlog_checksum = @@global.binlog_checksum;
SET @source_binlog_checksum = @@global.binlog_checksum;
SET @mariadb_slave_capability = 4;
