BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('tidegate ledger', 0));
CREATE SCHEMA IF NOT EXISTS "tidegate";
CREATE TABLE IF NOT EXISTS "tidegate"."target" (
  identity varchar(200) PRIMARY KEY, version int NOT NULL, at varchar(40) NOT NULL);
CREATE TABLE IF NOT EXISTS "tidegate"."scopes" (table_name varchar(300) PRIMARY KEY, scope text NOT NULL);
CREATE TABLE IF NOT EXISTS "tidegate"."ledger" (
  table_name varchar(300) NOT NULL, value_text varchar(400) NOT NULL, generation int NOT NULL,
  kind varchar(20) NOT NULL, row_total bigint NOT NULL, hash varchar(64) NOT NULL,
  text_columns text NOT NULL, newest text, columns text NOT NULL, columns_id varchar(64) NOT NULL,
  stamp varchar(80) NOT NULL, run varchar(64) NOT NULL, at varchar(40) NOT NULL,
  PRIMARY KEY (table_name, value_text, generation));
CREATE TABLE IF NOT EXISTS "tidegate"."runs" (
  run varchar(64) PRIMARY KEY, at varchar(40) NOT NULL, report text NOT NULL);
CREATE TABLE IF NOT EXISTS "tidegate"."locks" (
  table_name varchar(300) PRIMARY KEY, run varchar(64) NOT NULL, holder varchar(200) NOT NULL,
  since varchar(40) NOT NULL);
SELECT identity FROM "tidegate"."target";
SELECT system_identifier::text || '/' || oid::text
FROM pg_control_system(), pg_database
WHERE datname = current_database();
SELECT to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
INSERT INTO "tidegate"."target" (identity, version, at) VALUES ('1/2', 1, 'now');
COMMIT;
