ALTER TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` MODIFY COLUMN `it's a "note"` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NULL;
ALTER TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` MODIFY COLUMN `cobid` int NOT NULL;
