SELECT CAST(found.value AS CHAR)
FROM (SELECT DISTINCT `it's a "note"` AS value FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `it's a "note"` IS NOT NULL) AS found LIMIT 100001;
