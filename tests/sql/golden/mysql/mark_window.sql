SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `changed at` IS NULL;
SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`changed at` > CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) OR (`changed at` = CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) AND `is latest` > CAST('1' AS SIGNED)));
SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`changed at` > CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) OR (`changed at` = CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) AND `is latest` IS NOT NULL AND `is latest` >= CAST('1' AS SIGNED)));
SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `changed at` >= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) AND `changed at` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6));
SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`changed at` >= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) OR `is latest` = CAST('1' AS SIGNED)) AND `changed at` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6));
SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE 1 = 1 AND `changed at` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6));
SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `changed at` IS NOT NULL AND `changed at` >= CAST('2024-01-31 12:00:00.125' AS DATETIME(6));
SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `changed at` < CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) AND `is latest` = CAST('1' AS SIGNED);
SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `changed at` > CAST('2024-01-31 12:00:00.125' AS DATETIME(6));
