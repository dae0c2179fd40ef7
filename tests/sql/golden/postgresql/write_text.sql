COPY "sales"."odd ""orders"" {x} 100%" ("cobid", "it's a ""note""", "b") FROM STDIN (FORMAT text);
-- then its data:
-- 7	the end \\.	\\x00ff
-- \N		\N
