SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."stages" (name, table_name, partition_name, purpose, run, details, at) VALUES ('sales."odd ""orders""_STAGE_1"', 'sales."odd ""orders"" `of` [x] {y} 100%"', 'p20240131', 'stage', 'r-1', '{"windows": {"20240131": 3}, "whole": true}', 'now');
DELETE FROM "tidegate"."stages" WHERE name = 'sales."odd ""orders""_STAGE_1"';
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."stages" (name, table_name, partition_name, purpose, run, details, at) VALUES ('sales."odd ""orders""_STAGE_1"', 'sales."odd ""orders"" `of` [x] {y} 100%"', 'p20240131', 'stage', 'r-1', '{"windows": {"20240131": 3}, "whole": true}', 'now');
SELECT name, table_name, partition_name, purpose, run, details, at FROM "tidegate"."stages" ORDER BY at, name;
SELECT name, table_name, partition_name, purpose, run, details, at FROM "tidegate"."stages" WHERE table_name = 'sales."odd ""orders"" `of` [x] {y} 100%"' ORDER BY at, name;
DROP TABLE IF EXISTS "sales"."odd ""orders""_STAGE_1";
DELETE FROM "tidegate"."stages" WHERE name = 'sales."odd ""orders""_STAGE_1"';
