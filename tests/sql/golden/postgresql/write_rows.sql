COPY "sales"."odd ""orders"" {x} 100%" ("cobid", "it's a ""note""", "b") FROM STDIN (FORMAT csv);
-- then its data:
-- 7,"say ""hi""
-- \.
-- ","\x00ff"
-- ,"",
