COPY "sales"."odd ""orders"" `of` [x] {y} 100%" ("cobid", "it's a ""note""", "b") FROM STDIN (FORMAT csv);
-- then its rows:
-- 7,"say ""hi"", it's
-- \.
-- ","\x00ff"
-- 8,,"\x"
