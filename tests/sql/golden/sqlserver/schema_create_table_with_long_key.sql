IF SCHEMA_ID(N'sales') IS NULL EXEC(N'CREATE SCHEMA [sales]');
CREATE TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ([cobid] int NOT NULL, [long] nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL);
