SELECT d.recovery_model_desc, CONVERT(bigint, l.total_log_size_in_bytes / 1048576),
       CONVERT(bigint, l.used_log_space_in_bytes / 1048576)
FROM sys.databases AS d CROSS JOIN sys.dm_db_log_space_usage AS l
WHERE d.database_id = DB_ID();
