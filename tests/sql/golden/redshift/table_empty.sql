DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
