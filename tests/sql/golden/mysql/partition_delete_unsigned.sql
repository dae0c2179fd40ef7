DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `n` = CAST('20240131' AS UNSIGNED);
