CREATE TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` (`cobid` int NOT NULL, `long` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NOT NULL, KEY (`long`(191))) ENGINE = InnoDB;
