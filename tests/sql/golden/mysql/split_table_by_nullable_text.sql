SELECT CAST(`it's a "note"` AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `it's a "note"` IS NOT NULL ORDER BY `it's a "note"` LIMIT 1 OFFSET 300000;
SELECT CAST(`it's a "note"` AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `it's a "note"` > '7' ORDER BY `it's a "note"` LIMIT 1 OFFSET 299999;
SELECT `it's a "note"` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`it's a "note"` < '7' OR `it's a "note"` IS NULL);
SELECT `it's a "note"` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `it's a "note"` >= '7' AND `it's a "note"` < '7';
SELECT `it's a "note"` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `it's a "note"` >= '7';
