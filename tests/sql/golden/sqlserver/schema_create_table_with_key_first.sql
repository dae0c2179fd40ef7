CREATE TABLE [dbo].[t] ([cobid] int NOT NULL, [code] nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL, PRIMARY KEY CLUSTERED ([cobid], [code]));
