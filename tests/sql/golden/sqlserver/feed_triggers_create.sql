CREATE TRIGGER [sales].[tidegate_odd_orders_of_x_y_100__c0c17e9c2e_1dc564] ON [sales]."odd ""orders"" `of` [x] {y} 100%" AFTER INSERT, UPDATE, DELETE AS
BEGIN
  SET NOCOUNT ON;
  INSERT INTO [tidegate_uat].[odd_orders_of_x_y_100__c0c17e9c2e] (operation, [key_1], [key_2])
  SELECT CASE WHEN EXISTS (SELECT 1 FROM deleted) THEN 'U' ELSE 'I' END, [n].[cobid], [n].[code] FROM inserted AS n;
  INSERT INTO [tidegate_uat].[odd_orders_of_x_y_100__c0c17e9c2e] (operation, [key_1], [key_2])
  SELECT 'D', [o].[cobid], [o].[code] FROM deleted AS o
  WHERE NOT EXISTS (SELECT 1 FROM inserted AS n WHERE [o].[cobid] = [n].[cobid] AND ([o].[code] = [n].[code] AND CONVERT(varbinary(8000), [o].[code]) = CONVERT(varbinary(8000), [n].[code]) AND DATALENGTH([o].[code]) = DATALENGTH([n].[code])));
END;
