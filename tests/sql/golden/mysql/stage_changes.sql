CREATE TEMPORARY TABLE `none`.`tidegate_1` ENGINE = InnoDB AS
SELECT t.`cobid` AS `tidegate_0`, t.`it's a "note"` AS `tidegate_1`, t.`b` AS `tidegate_2` FROM (SELECT 1 AS one) AS o LEFT JOIN `sales`.`odd "orders" ``of`` [x] {y} 100%` AS t ON 1 = 0 LIMIT 0;
SELECT @@local_infile;
LOAD DATA LOCAL INFILE 'rows of tidegate' INTO TABLE `none`.`tidegate_1` CHARACTER SET utf8mb4
FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY '' LINES TERMINATED BY '
' (`tidegate_0`, `tidegate_1`, @field2) SET `tidegate_2` = UNHEX(@field2);
-- then its rows:
-- 7,"it's",78
-- 8,"",NULL
UPDATE `sales`.`odd "orders" ``of`` [x] {y} 100%` AS t JOIN `none`.`tidegate_1` AS s ON `t`.`cobid` = `s`.`tidegate_0` AND (`t`.`it's a "note"` = `s`.`tidegate_1` AND CAST(`t`.`it's a "note"` AS BINARY) = CAST(`s`.`tidegate_1` AS BINARY)) SET t.`b` = s.`tidegate_2`;
DELETE t FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` AS t JOIN `none`.`tidegate_1` AS s ON `t`.`cobid` = `s`.`tidegate_0` AND (`t`.`it's a "note"` = `s`.`tidegate_1` AND CAST(`t`.`it's a "note"` AS BINARY) = CAST(`s`.`tidegate_1` AS BINARY));
SELECT `cobid`, `it's a "note"` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE EXISTS (SELECT 1 FROM `none`.`tidegate_1` AS s WHERE `s`.`tidegate_0` = `cobid` AND (`s`.`tidegate_1` = `it's a "note"` AND CAST(`s`.`tidegate_1` AS BINARY) = CAST(`it's a "note"` AS BINARY)));
SELECT `cobid`, `it's a "note"` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE EXISTS (SELECT 1 FROM `none`.`tidegate_1` AS s WHERE `s`.`tidegate_0` = `cobid`);
DROP TEMPORARY TABLE IF EXISTS `none`.`tidegate_1`;
