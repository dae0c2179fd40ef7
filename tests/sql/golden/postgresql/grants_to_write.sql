GRANT CREATE ON DATABASE "none" TO "the_login";
GRANT USAGE, CREATE ON SCHEMA "sales" TO "the_login";
GRANT SELECT, INSERT, DELETE ON "sales"."odd ""orders"" `of` [x] {y} 100%" TO "the_login";
