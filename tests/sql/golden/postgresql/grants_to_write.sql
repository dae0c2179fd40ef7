GRANT CREATE, TEMPORARY ON DATABASE "none" TO "the_login";
GRANT USAGE, CREATE ON SCHEMA "sales" TO "the_login";
DO 'BEGIN IF to_regclass(''"sales"."odd ""orders"" `of` [x] {y} 100%"'') IS NOT NULL THEN GRANT SELECT, INSERT, UPDATE, DELETE ON "sales"."odd ""orders"" `of` [x] {y} 100%" TO "the_login"; END IF; END';
DO 'BEGIN IF to_regclass(''"sales"."daily"'') IS NOT NULL THEN GRANT SELECT, INSERT, DELETE ON "sales"."daily" TO "the_login"; END IF; END';
