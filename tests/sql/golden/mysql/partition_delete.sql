DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `a int64` = CAST('20240131' AS SIGNED);
DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `a uint64` = CAST('20240131' AS UNSIGNED);
DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `a decimal(10,2)` = CAST('1.5' AS DECIMAL(10,2));
DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `a date` = CAST('2024-01-31' AS DATE);
DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `a timestamp(3)` = CAST('2024-01-31 10:00:00.5' AS DATETIME(6));
DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `a instant(6)` = CAST('2024-01-31 10:00:00' AS DATETIME(6));
DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`a string(20)` = 'it''s' AND CAST(CONVERT(`a string(20)` USING utf8mb4) AS BINARY) = CAST('it''s' AS BINARY));
DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`a char(3)` = 'a' AND CAST(CONVERT(`a char(3)` USING utf8mb4) AS BINARY) = CAST('a' AS BINARY));
DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`a uuid` = '0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57' AND CAST(CONVERT(`a uuid` USING utf8mb4) AS BINARY) = CAST('0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57' AS BINARY));
