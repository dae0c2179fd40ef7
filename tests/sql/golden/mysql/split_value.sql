SELECT CAST(`code` AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`cobid` = CAST('20240131' AS SIGNED)) AND `code` IS NOT NULL ORDER BY `code` LIMIT 1 OFFSET 300000;
SELECT CAST(`code` AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`cobid` = CAST('20240131' AS SIGNED)) AND `code` > '7' ORDER BY `code` LIMIT 1 OFFSET 299999;
SELECT `cobid`, `code` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`cobid` = CAST('20240131' AS SIGNED)) AND `code` < '7';
SELECT `cobid`, `code` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`cobid` = CAST('20240131' AS SIGNED)) AND `code` >= '7' AND `code` < '7';
SELECT `cobid`, `code` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`cobid` = CAST('20240131' AS SIGNED)) AND `code` >= '7';
