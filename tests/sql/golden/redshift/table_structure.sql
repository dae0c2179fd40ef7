ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ADD CONSTRAINT "fk" FOREIGN KEY ("cobid", "code") REFERENCES "sales"."daily" ("id", "code");
