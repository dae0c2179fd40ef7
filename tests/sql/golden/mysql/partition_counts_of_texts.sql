SELECT CAST(`it's a "note"` AS CHAR), count(*), NULL
FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`it's a "note"` IN ('it''s', 'back\slash') AND CAST(CONVERT(`it's a "note"` USING utf8mb4) AS BINARY) IN (CAST('it''s' AS BINARY), CAST('back\slash' AS BINARY))) GROUP BY CAST(`it's a "note"` AS CHAR);
