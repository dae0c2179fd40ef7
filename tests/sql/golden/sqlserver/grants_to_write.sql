IF SCHEMA_ID(N'tidegate') IS NULL EXEC(N'CREATE SCHEMA [tidegate]');
IF SCHEMA_ID(N'sales') IS NULL EXEC(N'CREATE SCHEMA [sales]');
GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON SCHEMA::[tidegate] TO [the_login];
GRANT CREATE TABLE TO [the_login];
IF OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') IS NOT NULL GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON OBJECT::[sales]."odd ""orders"" `of` [x] {y} 100%" TO [the_login] ELSE GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON SCHEMA::[sales] TO [the_login];
IF OBJECT_ID(N'[sales].[daily]') IS NOT NULL GRANT SELECT, INSERT, DELETE, ALTER ON OBJECT::[sales].[daily] TO [the_login] ELSE GRANT SELECT, INSERT, DELETE, ALTER ON SCHEMA::[sales] TO [the_login];
