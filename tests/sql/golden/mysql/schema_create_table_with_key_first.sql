CREATE TABLE `none`.`t` (`cobid` int NOT NULL, `code` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin NOT NULL, PRIMARY KEY (`cobid`, `code`)) ENGINE = InnoDB;
