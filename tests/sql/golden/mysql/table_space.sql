SELECT DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES
WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders" `of` [x] {y} 100%';
