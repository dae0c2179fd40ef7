SET SESSION information_schema_stats_expiry = 0;
SELECT COALESCE(UPDATE_TIME, 'never'),
  ENGINE = 'InnoDB' AND COALESCE(UPDATE_TIME < NOW() - INTERVAL 2 SECOND, 1)
FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders" `of` [x] {y} 100%';
SELECT count(*), CAST(MAX(`it's a "note"`) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
SET SESSION information_schema_stats_expiry = 0;
SELECT COALESCE(UPDATE_TIME, 'never'),
  ENGINE = 'InnoDB' AND COALESCE(UPDATE_TIME < NOW() - INTERVAL 2 SECOND, 1)
FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders" `of` [x] {y} 100%';
