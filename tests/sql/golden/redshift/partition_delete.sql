DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a int64" = CAST('20240131' AS bigint);
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a uint64" = CAST('20240131' AS numeric(20,0));
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a decimal(10,2)" = CAST('1.5' AS numeric(10,2));
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a date" = CAST('2024-01-31' AS date);
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a timestamp(3)" = CAST('2024-01-31 10:00:00.5' AS timestamp without time zone);
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a instant(6)" = CAST('2024-01-31 10:00:00' AS timestamp with time zone);
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("a string(20)" = CAST('it''s' AS character varying(80)) AND OCTET_LENGTH("a string(20)") = 4);
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("a char(3)" = CAST('a' AS character varying(12)) AND OCTET_LENGTH("a char(3)") = 1);
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ("a uuid" = CAST('0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57' AS character varying(36)) AND OCTET_LENGTH("a uuid") = 36);
