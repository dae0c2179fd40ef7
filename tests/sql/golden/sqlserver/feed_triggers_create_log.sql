IF SCHEMA_ID(N'tidegate_uat') IS NULL EXEC (N'CREATE SCHEMA [tidegate_uat] AUTHORIZATION dbo');
CREATE TABLE [tidegate_uat].[odd_orders_of_x_y_100__c0c17e9c2e] (row_version rowversion NOT NULL, operation char(1) NOT NULL, changed_at datetime2(7) NOT NULL DEFAULT SYSUTCDATETIME(), [key_1] int NOT NULL, [key_2] nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL);
CREATE CLUSTERED INDEX by_version ON [tidegate_uat].[odd_orders_of_x_y_100__c0c17e9c2e] (row_version);
