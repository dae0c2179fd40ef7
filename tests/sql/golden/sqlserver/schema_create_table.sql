IF SCHEMA_ID(N'sales') IS NULL EXEC(N'CREATE SCHEMA [sales]');
CREATE TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ([cobid] int NOT NULL, [code] nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY NONCLUSTERED ([code]));
CREATE CLUSTERED INDEX [ix_cobid] ON [sales]."odd ""orders"" `of` [x] {y} 100%" ([cobid]);
