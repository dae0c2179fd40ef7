SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
