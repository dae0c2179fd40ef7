SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders" `of` [x] {y} 100%';
SELECT k.CONSTRAINT_NAME, k.TABLE_SCHEMA, k.TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE AS k
WHERE k.REFERENCED_TABLE_NAME IS NOT NULL AND ((k.TABLE_SCHEMA = 'sales' AND k.TABLE_NAME = 'odd "orders" `of` [x] {y} 100%')
   OR (k.REFERENCED_TABLE_SCHEMA = 'sales' AND k.REFERENCED_TABLE_NAME = 'odd "orders" `of` [x] {y} 100%'))
ORDER BY 1;
SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COALESCE(COLLATION_NAME, ''),
       COALESCE(GENERATION_EXPRESSION, '')
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders" `of` [x] {y} 100%'
ORDER BY ORDINAL_POSITION;
SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COALESCE(COLLATION_NAME, ''),
       COALESCE(GENERATION_EXPRESSION, '')
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders"_STAGE_1'
ORDER BY ORDINAL_POSITION;
SELECT INDEX_NAME, NON_UNIQUE, SEQ_IN_INDEX, COALESCE(COLUMN_NAME, ''), COALESCE(SUB_PART, 0), INDEX_TYPE
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders" `of` [x] {y} 100%';
SELECT INDEX_NAME, NON_UNIQUE, SEQ_IN_INDEX, COALESCE(COLUMN_NAME, ''), COALESCE(SUB_PART, 0), INDEX_TYPE
FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders"_STAGE_1';
SELECT COALESCE(ROW_FORMAT, '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders" `of` [x] {y} 100%';
SELECT COALESCE(ROW_FORMAT, '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders"_STAGE_1';
SELECT COUNT(*) FROM information_schema.PARTITIONS
WHERE TABLE_SCHEMA = 'sales' AND TABLE_NAME = 'odd "orders"_STAGE_1' AND PARTITION_NAME IS NOT NULL;
ALTER TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` ENGINE = InnoDB;
ALTER TABLE `sales`.`audits` DROP FOREIGN KEY `fk`;
ALTER TABLE `sales`.`odd "orders"_STAGE_1` REMOVE PARTITIONING;
DROP TABLE `sales`.`odd "orders"_STAGE_1`;
CREATE TABLE `sales`.`odd "orders"_STAGE_1` LIKE `sales`.`odd "orders" ``of`` [x] {y} 100%`;
ALTER TABLE `sales`.`odd "orders"_STAGE_1` REMOVE PARTITIONING;
DROP TABLE `sales`.`odd "orders"_STAGE_1`;
CREATE TABLE `sales`.`odd "orders"_STAGE_1` LIKE `sales`.`odd "orders" ``of`` [x] {y} 100%`;
ALTER TABLE `sales`.`odd "orders"_STAGE_1` REMOVE PARTITIONING;
DROP TABLE `sales`.`odd "orders"_STAGE_1`;
CREATE TABLE `sales`.`odd "orders"_STAGE_1` LIKE `sales`.`odd "orders" ``of`` [x] {y} 100%`;
ALTER TABLE `sales`.`odd "orders"_STAGE_1` REMOVE PARTITIONING;
ALTER TABLE `sales`.`odd "orders"_STAGE_1` ROW_FORMAT = -;
