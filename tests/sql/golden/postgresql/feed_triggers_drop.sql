DROP TRIGGER "tidegate_odd" ON "sales"."odd ""orders"" `of` [x] {y} 100%";
DROP TABLE "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e";
