GRANT USAGE ON SCHEMA "sales" TO "the_login";
GRANT SELECT ON TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" TO "the_login";
