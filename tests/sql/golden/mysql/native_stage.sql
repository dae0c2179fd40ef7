CREATE TABLE `sales`.`odd "orders"_STAGE_1` LIKE `sales`.`odd "orders" ``of`` [x] {y} 100%`;
ALTER TABLE `sales`.`odd "orders"_STAGE_1` REMOVE PARTITIONING;
ANALYZE TABLE `sales`.`odd "orders"_STAGE_1`;
