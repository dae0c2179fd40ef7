CREATE SCHEMA IF NOT EXISTS "tidegate_uat";
CREATE TABLE "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(), operation char(1) NOT NULL, changed_at timestamptz NOT NULL DEFAULT clock_timestamp(), "key_1" integer, "key_2" character varying(20));
CREATE INDEX ON "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (transaction_id);
