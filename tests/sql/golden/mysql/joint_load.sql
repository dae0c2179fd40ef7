START TRANSACTION;
SELECT k.CONSTRAINT_NAME, k.TABLE_SCHEMA, k.TABLE_NAME, k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME,
       r.DELETE_RULE, r.UPDATE_RULE, k.COLUMN_NAME, k.REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE AS k
JOIN information_schema.REFERENTIAL_CONSTRAINTS AS r
  ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
WHERE k.REFERENCED_TABLE_NAME IS NOT NULL AND ((k.TABLE_SCHEMA, k.TABLE_NAME) IN (('sales', 'odd "orders" `of` [x] {y} 100%'), ('sales', 'daily'))
   OR (k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME) IN (('sales', 'odd "orders" `of` [x] {y} 100%'), ('sales', 'daily')))
ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION;
SET SESSION foreign_key_checks = 0;
DELETE FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` AS c WHERE c.`cobid` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `sales`.`daily` AS p WHERE p.`id` = c.`cobid`);
SET SESSION foreign_key_checks = 1;
COMMIT;
