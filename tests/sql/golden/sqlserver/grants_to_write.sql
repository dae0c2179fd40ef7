IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON SCHEMA::[tidegate] TO [the_login];
GRANT CREATE TABLE TO [the_login];
GRANT ALTER ON SCHEMA::[sales] TO [the_login];
GRANT SELECT, INSERT, UPDATE, DELETE, ALTER, VIEW DEFINITION ON OBJECT::[sales]."odd ""orders"" `of` [x] {y} 100%" TO [the_login];
