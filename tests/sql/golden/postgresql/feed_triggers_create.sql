CREATE OR REPLACE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $tidegate$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (operation, "key_1", "key_2") SELECT 'I', n."cobid", n."code" FROM new_rows AS n;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (operation, "key_1", "key_2") SELECT 'U', n."cobid", n."code" FROM new_rows AS n;
    INSERT INTO "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (operation, "key_1", "key_2") SELECT 'D', o."cobid", o."code" FROM old_rows AS o WHERE NOT EXISTS (SELECT FROM new_rows AS n WHERE "o"."cobid" = "n"."cobid" AND ("o"."code" = "n"."code" AND CAST("o"."code" AS text) COLLATE "C" = CAST("n"."code" AS text) COLLATE "C"));
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (operation, "key_1", "key_2") SELECT 'D', o."cobid", o."code" FROM old_rows AS o;
  ELSE
    INSERT INTO "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" (operation) VALUES ('T');
  END IF;
  RETURN NULL;
END
$tidegate$;
REVOKE ALL ON FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423"() FROM PUBLIC;
CREATE TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423_i" AFTER INSERT ON "sales"."odd ""orders"" `of` [x] {y} 100%" REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423"();
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ENABLE ALWAYS TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423_i";
CREATE TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423_u" AFTER UPDATE ON "sales"."odd ""orders"" `of` [x] {y} 100%" REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423"();
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ENABLE ALWAYS TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423_u";
CREATE TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423_d" AFTER DELETE ON "sales"."odd ""orders"" `of` [x] {y} 100%" REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423"();
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ENABLE ALWAYS TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423_d";
CREATE TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423_t" AFTER TRUNCATE ON "sales"."odd ""orders"" `of` [x] {y} 100%" FOR EACH STATEMENT EXECUTE FUNCTION "tidegate_uat"."tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423"();
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ENABLE ALWAYS TRIGGER "tidegate_odd_orders_of_x_y_100__c0c17e9c2e_607423_t";
