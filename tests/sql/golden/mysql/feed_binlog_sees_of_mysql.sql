SELECT GTID_SUBSET('3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77', @@global.gtid_executed);
