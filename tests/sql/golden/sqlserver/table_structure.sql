CREATE UNIQUE INDEX [by_code] ON [sales]."odd ""orders"" `of` [x] {y} 100%" ([code], [note]);
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ADD CONSTRAINT [fk] FOREIGN KEY ([cobid], [code]) REFERENCES [sales].[daily] ([id], [code]);
ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ADD DEFAULT 'it''s' FOR [note];
