ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ADD [version number] bigint IDENTITY(1, 1) NOT NULL UNIQUE;
