ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ADD COLUMN "version number" bigint GENERATED ALWAYS AS IDENTITY UNIQUE;
