SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND type = 2 AND is_unique = 0 AND is_disabled = 0 AND HAS_PERMS_BY_NAME(N'[sales]."odd ""orders"" `of` [x] {y} 100%"', 'OBJECT', 'ALTER') = 1 ORDER BY index_id;
ALTER INDEX [sales] ON [sales]."odd ""orders"" `of` [x] {y} 100%" DISABLE;
ALTER INDEX [sales] ON [sales]."odd ""orders"" `of` [x] {y} 100%" REBUILD;
