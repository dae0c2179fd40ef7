SELECT @@global.gtid_binlog_pos;
SHOW BINARY LOGS;
SELECT BINLOG_GTID_POS('binlog.000007', 4);
