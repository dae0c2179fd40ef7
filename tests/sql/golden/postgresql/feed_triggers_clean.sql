DELETE FROM "tidegate_uat"."odd_orders_of_x_y_100__c0c17e9c2e" WHERE transaction_id < CAST('120' AS xid8) AND pg_visible_in_snapshot(transaction_id, CAST('112:120:115' AS pg_snapshot));
