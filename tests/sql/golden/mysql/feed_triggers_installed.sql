SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'tidegate_odd_orders_of_x_y_100__c0c17e9c2e';
SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = 'sales' AND EVENT_OBJECT_TABLE = 'odd "orders" `of` [x] {y} 100%';
