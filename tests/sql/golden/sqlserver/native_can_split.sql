SELECT COALESCE(SUM(p.rows), 0)
FROM sys.partition_functions AS pf
JOIN sys.partition_schemes AS ps ON ps.function_id = pf.function_id
JOIN sys.indexes AS i ON i.data_space_id = ps.data_space_id AND i.index_id IN (0, 1)
JOIN sys.partitions AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
WHERE pf.name = N'pf' AND p.partition_number = 3;
