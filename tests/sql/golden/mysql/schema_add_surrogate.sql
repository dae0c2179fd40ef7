ALTER TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` ADD COLUMN `version number` bigint NOT NULL AUTO_INCREMENT UNIQUE;
