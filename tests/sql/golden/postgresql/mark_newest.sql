SELECT CAST(max("changed at") AS text), CAST(max("changed at") AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
SELECT CAST(max("changed at") AS text), CAST(max(CASE WHEN "changed at" <= CAST('2024-01-31 12:00:00.125' AS timestamp(3) without time zone) THEN "changed at" END) AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
