ALTER TABLE [sales]."odd ""orders"" `of` [x] {y} 100%" ENABLE CHANGE_TRACKING;
