START TRANSACTION;
SELECT @@SESSION.lock_wait_timeout;
SET SESSION lock_wait_timeout = 1;
ALTER TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` EXCHANGE PARTITION `p20240131` WITH TABLE `sales`.`odd "orders"_STAGE_1` WITHOUT VALIDATION;
SET SESSION lock_wait_timeout = 300;
START TRANSACTION;
COMMIT;
