SELECT d.recovery_model_desc, CONVERT(bigint, l.total_log_size_in_bytes / 1048576),
       CONVERT(bigint, l.used_log_space_in_bytes / 1048576)
FROM sys.databases AS d CROSS JOIN sys.dm_db_log_space_usage AS l
WHERE d.name = DB_NAME();
SELECT SUM(CONVERT(bigint, f.size)) / 128, SUM(CONVERT(bigint, FILEPROPERTY(f.name, N'SpaceUsed'))) / 128,
       MAX(CASE WHEN f.growth > 0 AND (f.max_size = -1 OR f.max_size > f.size) THEN 1 ELSE 0 END)
FROM sys.database_files AS f WHERE f.type = 0;
