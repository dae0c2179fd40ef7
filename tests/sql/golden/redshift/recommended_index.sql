CREATE INDEX "ix_odd ""orders"" `of` [x] {y} 100%_updated_at" ON "sales"."odd ""orders"" `of` [x] {y} 100%" ("updated_at");
