DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`name` = CONVERT('it''s' USING latin1) AND CAST(CONVERT(`name` USING utf8mb4) AS BINARY) = CAST('it''s' AS BINARY));
