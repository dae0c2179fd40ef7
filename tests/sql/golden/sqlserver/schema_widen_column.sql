ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ALTER COLUMN [it's a "note"] nvarchar(40) COLLATE Latin1_General_100_BIN2 NULL;
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ALTER COLUMN [cobid] int NOT NULL;
