ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" DISABLE CHANGE_TRACKING;
