CREATE UNIQUE INDEX "by_code" ON "sales"."odd ""orders"" `of` [x] {y} 100%" ("code", "note");
CREATE INDEX "lower" ON "sales"."odd ""orders"" `of` [x] {y} 100%" USING btree (lower(code));
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ADD CONSTRAINT "fk" FOREIGN KEY ("cobid", "code") REFERENCES "sales"."daily" ("id", "code");
