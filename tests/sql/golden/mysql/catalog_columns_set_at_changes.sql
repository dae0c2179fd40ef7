SELECT c.COLUMN_NAME FROM information_schema.COLUMNS AS c
WHERE (c.TABLE_SCHEMA, c.TABLE_NAME) IN (('sales', 'odd "orders" `of` [x] {y} 100%')) AND LOWER(c.EXTRA) LIKE '%on update current_timestamp%';
