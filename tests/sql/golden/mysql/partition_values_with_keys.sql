CREATE TEMPORARY TABLE `none`.`tidegate_1` ENGINE = InnoDB AS
SELECT t.`code` AS `tidegate_0`, t.`it's a "note"` AS `tidegate_1` FROM (SELECT 1 AS one) AS o LEFT JOIN `sales`.`odd "orders" ``of`` [x] {y} 100%` AS t ON 1 = 0 LIMIT 0;
SELECT @@local_infile;
LOAD DATA LOCAL INFILE 'rows of tidegate' INTO TABLE `none`.`tidegate_1` CHARACTER SET utf8mb4
FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY '' LINES TERMINATED BY '
' (`tidegate_0`, `tidegate_1`);
-- then its rows:
-- "x","it's"
SELECT CAST(`cobid` AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE EXISTS (SELECT 1 FROM `none`.`tidegate_1` AS s WHERE (`s`.`tidegate_0` = `code` AND CAST(`s`.`tidegate_0` AS BINARY) = CAST(`code` AS BINARY))) GROUP BY CAST(`cobid` AS CHAR);
SELECT CAST(`it's a "note"` AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE EXISTS (SELECT 1 FROM `none`.`tidegate_1` AS s WHERE (`s`.`tidegate_0` = `code` AND CAST(`s`.`tidegate_0` AS BINARY) = CAST(`code` AS BINARY)) AND (`s`.`tidegate_1` = `it's a "note"` AND CAST(`s`.`tidegate_1` AS BINARY) = CAST(`it's a "note"` AS BINARY))) GROUP BY CAST(`it's a "note"` AS CHAR);
DROP TEMPORARY TABLE IF EXISTS `none`.`tidegate_1`;
