COPY "sales"."odd ""orders"" `of` [x] {y} 100%" ("cobid", "it's a ""note""", "b") FROM STDIN (FORMAT binary);
-- then 50 47 43 4f 50 59 0a ff 0d 0a 00 00 00 00 00 00 00 00 00
-- then 00 03 00 00 00 04 00 00 00 07 00 00 00 12 73 61 79 20 22 68 69 22 2c 20 69 74 27 73 0a 5c 2e 0a 00 00 00 02 00 ff 00 03 00 00 00 04 00 00 00 08 ff ff ff ff 00 00 00 00
-- then ff ff
