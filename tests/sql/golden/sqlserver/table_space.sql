SELECT SUM(a.total_pages) * 8192 FROM sys.partitions AS p
JOIN sys.allocation_units AS a ON a.container_id = p.partition_id
JOIN sys.tables AS t ON t.object_id = p.object_id
WHERE SCHEMA_NAME(t.schema_id) = N'sales' AND t.name = N'odd "orders" `of` [x] {y} 100%';
