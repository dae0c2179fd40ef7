SELECT CAST(min("changed at") AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
