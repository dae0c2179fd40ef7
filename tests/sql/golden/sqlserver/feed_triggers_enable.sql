ENABLE TRIGGER [sales].[tidegate_odd] ON [sales]."odd ""orders"" `of` [x] {y} 100%";
