COPY (SELECT CASE "truth" WHEN 0 THEN false WHEN 1 THEN true END, CAST("flag" AS integer), CAST("code" AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%") TO STDOUT (FORMAT csv);
