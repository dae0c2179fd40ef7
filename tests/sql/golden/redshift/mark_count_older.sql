SELECT count(*), count(CASE WHEN "changed at" < CAST('2024-01-31 12:00:00.125' AS timestamp without time zone) THEN 1 END) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
SELECT count(*), count(CASE WHEN "changed at" < CAST('2024-01-31 12:00:00.125' AS timestamp without time zone) AND CASE WHEN 1 = 1 THEN 0 ELSE 1 END = 1 THEN 1 END) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
