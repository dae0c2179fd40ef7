CREATE TABLE "sales"."odd ""orders"" `of` [x] {y} 100%_p20240301" PARTITION OF "sales"."odd ""orders"" `of` [x] {y} 100%" FOR VALUES FROM ('20240301') TO ('20240401');
CREATE TABLE "sales"."odd ""orders"" `of` [x] {y} 100%_p20240131" PARTITION OF "sales"."odd ""orders"" `of` [x] {y} 100%" FOR VALUES IN ('20240131');
