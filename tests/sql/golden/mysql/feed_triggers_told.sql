SELECT count(*) FROM `sales`.`tidegate_odd_orders_of_x_y_100__c0c17e9c2e` WHERE (number > 100 OR number BETWEEN 95 AND 96);
