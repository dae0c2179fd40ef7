SELECT CASE WHEN "paid" THEN 1 WHEN NOT "paid" THEN 0 END FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
