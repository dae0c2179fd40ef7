SELECT CAST(`cobid` AS CHAR), count(*), CAST(max(`load_id`) AS CHAR)
FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` = CAST('20240131' AS SIGNED) GROUP BY CAST(`cobid` AS CHAR);
