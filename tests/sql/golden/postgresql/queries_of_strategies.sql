SELECT * FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("update_at" > '2024-08-15 10:30:00') OR ("update_at" = '2024-08-15 10:30:00' AND "it's an ""id""" > 7) ORDER BY "update_at", "it's an ""id""";
SELECT * FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "update_at" > '2024-08-15 10:30:00' ORDER BY "update_at";
SELECT * FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "it's an ""id""" > 7 ORDER BY "it's an ""id""";
SELECT * FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
