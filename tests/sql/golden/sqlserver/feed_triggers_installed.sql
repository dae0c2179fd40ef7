SELECT CONCAT(t.object_id, '-', CONVERT(varchar(33), t.create_date, 126)) FROM sys.tables AS t
JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE s.name = N'tidegate_uat' AND t.name = N'odd_orders_of_x_y_100__c0c17e9c2e';
SELECT g.name, CAST(g.is_disabled AS int) FROM sys.triggers AS g
JOIN sys.tables AS t ON t.object_id = g.parent_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE s.name = N'sales' AND t.name = N'odd "orders" `of` [x] {y} 100%' ORDER BY g.name;
