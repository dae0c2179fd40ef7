SELECT CASE `truth` WHEN 0 THEN 0 WHEN 1 THEN 1 END FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
