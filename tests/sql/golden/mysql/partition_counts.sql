SELECT CAST(`cobid` AS CHAR), count(*), NULL
FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` IN (CAST('20240131' AS SIGNED), CAST('20240201' AS SIGNED)) GROUP BY CAST(`cobid` AS CHAR);
