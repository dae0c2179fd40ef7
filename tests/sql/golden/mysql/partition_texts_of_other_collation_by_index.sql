SELECT CAST(found.value AS CHAR)
FROM (SELECT DISTINCT CAST(`name` AS CHAR) AS value FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `name` IS NOT NULL) AS found LIMIT 100001;
