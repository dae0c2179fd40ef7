SELECT CAST(`cobid` AS CHAR), count(*), NULL
FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` IS NULL GROUP BY CAST(`cobid` AS CHAR);
SELECT CAST(`cobid` AS CHAR), count(*), NULL
FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`cobid` IS NULL OR `cobid` = CAST('20240131' AS SIGNED)) GROUP BY CAST(`cobid` AS CHAR);
