SELECT CAST(found.value AS CHAR)
FROM (SELECT DISTINCT CAST(`cobid` AS CHAR) AS value FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` IS NOT NULL) AS found LIMIT 100001;
