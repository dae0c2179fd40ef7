CREATE SCHEMA IF NOT EXISTS "tidegate_uat";
CREATE TABLE "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(), operation char(1) NOT NULL, changed_at timestamptz NOT NULL DEFAULT clock_timestamp(), "key_1" integer, "key_2" character varying(20));
CREATE INDEX ON "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (transaction_id);
CREATE OR REPLACE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $tidegate$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    INSERT INTO "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (operation) VALUES ('T');
    RETURN NULL;
  END IF;
  IF TG_OP = 'DELETE' THEN
    INSERT INTO "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (operation, "key_1", "key_2") SELECT 'D', old."cobid", old."code";
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    IF NOT ("old"."cobid" = "new"."cobid" AND ("old"."code" = "new"."code" AND CAST("old"."code" AS text) COLLATE "C" = CAST("new"."code" AS text) COLLATE "C")) THEN
      INSERT INTO "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (operation, "key_1", "key_2") SELECT 'D', old."cobid", old."code";
    END IF;
  END IF;
  INSERT INTO "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (operation, "key_1", "key_2") SELECT left(TG_OP, 1), new."cobid", new."code";
  RETURN NULL;
END
$tidegate$;
REVOKE ALL ON FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913"() FROM PUBLIC;
CREATE TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913_i" AFTER INSERT ON "sales"."odd ""orders"" `of` [x] {y} 100%" FOR EACH ROW EXECUTE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913"();
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ENABLE ALWAYS TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913_i";
CREATE TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913_u" AFTER UPDATE ON "sales"."odd ""orders"" `of` [x] {y} 100%" FOR EACH ROW EXECUTE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913"();
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ENABLE ALWAYS TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913_u";
CREATE TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913_d" AFTER DELETE ON "sales"."odd ""orders"" `of` [x] {y} 100%" FOR EACH ROW EXECUTE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913"();
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ENABLE ALWAYS TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913_d";
CREATE TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913_t" AFTER TRUNCATE ON "sales"."odd ""orders"" `of` [x] {y} 100%" FOR EACH STATEMENT EXECUTE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913"();
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ENABLE ALWAYS TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_8f3913_t";
