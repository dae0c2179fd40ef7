DROP TRIGGER `sales`.`tidegate_odd`;
DROP TABLE `sales`.`tidegate_odd_orders_of_x_y_100__c0c17e9c2e`;
