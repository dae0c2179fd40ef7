SELECT f.name, s.name, t.name, ps.name, p.name, CONVERT(int, f.is_not_trusted), f.delete_referential_action_desc,
       f.update_referential_action_desc, COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(s.name) + N'.' + QUOTENAME(t.name),
       N'OBJECT', N'ALTER'), 0), c.name, pc.name
FROM sys.foreign_keys AS f
JOIN sys.tables AS t ON t.object_id = f.parent_object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.tables AS p ON p.object_id = f.referenced_object_id JOIN sys.schemas AS ps ON ps.schema_id = p.schema_id
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id
JOIN sys.columns AS pc ON pc.object_id = k.referenced_object_id AND pc.column_id = k.referenced_column_id
WHERE f.is_disabled = 0 AND ((s.name = N'sales' AND t.name = N'odd "orders" `of` [x] {y} 100%') OR (ps.name = N'sales' AND p.name = N'odd "orders" `of` [x] {y} 100%') OR (s.name = N'sales' AND t.name = N'daily') OR (ps.name = N'sales' AND p.name = N'daily'))
ORDER BY s.name, t.name, f.name, k.constraint_column_id;
