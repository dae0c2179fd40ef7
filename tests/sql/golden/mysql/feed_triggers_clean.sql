SELECT number FROM `sales`.`tidegate_odd_orders_of_x_y_100__c0c17e9c2e` WHERE number <= 200 AND number NOT BETWEEN 150 AND 150 ORDER BY number LIMIT 10000;
DELETE t FROM JSON_TABLE('[1]', '$[*]' COLUMNS (number bigint unsigned PATH '$')) AS s STRAIGHT_JOIN `sales`.`tidegate_odd_orders_of_x_y_100__c0c17e9c2e` AS t ON t.number = s.number;
