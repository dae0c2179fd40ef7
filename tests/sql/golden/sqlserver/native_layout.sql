SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'odd "orders" `of` [x] {y} 100%') OR LOWER(TABLE_NAME) IN (N'odd "orders" `of` [x] {y} 100%');
SELECT ps.name, pf.name, pf.boundary_value_on_right, c.name
FROM sys.indexes AS i
JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
JOIN sys.partition_functions AS pf ON pf.function_id = ps.function_id
JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id = 7 AND i.index_id IN (0, 1);
SELECT TABLE_SCHEMA, TABLE_NAME, OBJECT_ID(QUOTENAME(TABLE_SCHEMA) + N'.' + QUOTENAME(TABLE_NAME))
FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME IN (N'odd "orders" `of` [x] {y} 100%') OR LOWER(TABLE_NAME) IN (N'odd "orders" `of` [x] {y} 100%');
SELECT p.partition_number, CASE WHEN [low].[boundary_id] IS NOT NULL AND [low].[value] IS NULL THEN N'(null)'
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([low].[value], 'BaseType')) IN (N'binary', N'varbinary')
     THEN CONVERT(nvarchar(4000), CONVERT(varbinary(2000), [low].[value]), 1)
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([low].[value], 'BaseType')) IN (N'float', N'real')
     THEN CONVERT(nvarchar(60), CONVERT(float, [low].[value]), 3)
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([low].[value], 'BaseType')) IN (N'money', N'smallmoney')
     THEN CONVERT(nvarchar(60), CONVERT(money, [low].[value]), 2)
     ELSE CONVERT(nvarchar(4000), [low].[value], 126) END, CASE WHEN [high].[boundary_id] IS NOT NULL AND [high].[value] IS NULL THEN N'(null)'
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([high].[value], 'BaseType')) IN (N'binary', N'varbinary')
     THEN CONVERT(nvarchar(4000), CONVERT(varbinary(2000), [high].[value]), 1)
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([high].[value], 'BaseType')) IN (N'float', N'real')
     THEN CONVERT(nvarchar(60), CONVERT(float, [high].[value]), 3)
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([high].[value], 'BaseType')) IN (N'money', N'smallmoney')
     THEN CONVERT(nvarchar(60), CONVERT(money, [high].[value]), 2)
     ELSE CONVERT(nvarchar(4000), [high].[value], 126) END, p.rows, p.data_compression_desc, fg.name, fg.is_read_only
FROM sys.indexes AS i
JOIN sys.partitions AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.destination_data_spaces AS d
  ON d.partition_scheme_id = ps.data_space_id AND d.destination_id = p.partition_number
LEFT JOIN sys.filegroups AS fg ON fg.data_space_id = d.data_space_id
LEFT JOIN sys.partition_range_values AS low
  ON low.function_id = ps.function_id AND low.boundary_id = p.partition_number - 1
LEFT JOIN sys.partition_range_values AS high
  ON high.function_id = ps.function_id AND high.boundary_id = p.partition_number
WHERE i.object_id = 7 AND i.index_id IN (0, 1) ORDER BY p.partition_number;
