DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `start` > CAST('2024-01-31 10:00:00.000001' AS DATETIME(6));
UPDATE `sales`.`odd "orders" ``of`` [x] {y} 100%` SET `end` = NULL, `is current` = CAST('1' AS SIGNED) WHERE `end` > CAST('2024-01-31 10:00:00.000001' AS DATETIME(6));
