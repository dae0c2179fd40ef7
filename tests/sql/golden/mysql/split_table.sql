SELECT CAST(`cobid` AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` IS NOT NULL ORDER BY `cobid` LIMIT 1 OFFSET 300000;
SELECT CAST(`cobid` AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` > CAST('7' AS SIGNED) ORDER BY `cobid` LIMIT 1 OFFSET 299999;
SELECT `cobid` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` < CAST('7' AS SIGNED);
SELECT `cobid` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` >= CAST('7' AS SIGNED) AND `cobid` < CAST('7' AS SIGNED);
SELECT `cobid` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` >= CAST('7' AS SIGNED);
