SELECT COALESCE(MAX(number), 0) FROM `sales`.`tidegate_odd_orders_of_x_y_100__c0c17e9c2e`;
SELECT previous + 1, number - 1 FROM (SELECT number, COALESCE(LAG(number) OVER (ORDER BY number), 100) AS previous FROM `sales`.`tidegate_odd_orders_of_x_y_100__c0c17e9c2e` WHERE number > 100 AND number <= 200) AS numbered WHERE number > previous + 1;
SELECT number FROM `sales`.`tidegate_odd_orders_of_x_y_100__c0c17e9c2e` WHERE number BETWEEN 95 AND 96 OR number BETWEEN 150 AND 151 ORDER BY number;
SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT number FROM `sales`.`tidegate_odd_orders_of_x_y_100__c0c17e9c2e` WHERE number BETWEEN 95 AND 96 OR number BETWEEN 150 AND 151 ORDER BY number;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
