COPY (SELECT CAST("price" AS numeric) FROM "sales"."odd ""orders"" `of` [x] {y} 100%") TO STDOUT (FORMAT csv);
