SELECT CASE WHEN EXISTS (SELECT 1 FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE (`cobid` = CAST('20240115' AS SIGNED)) AND (`it's a "note"` IS NOT NULL OR `b` IS NOT NULL)) THEN 1 ELSE 0 END;
SELECT CASE WHEN EXISTS (SELECT 1 FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `it's a "note"` IS NOT NULL) THEN 1 ELSE 0 END;
CREATE TEMPORARY TABLE `none`.`tidegate_1` ENGINE = InnoDB AS
SELECT t.`cobid` AS `tidegate_0`, t.`it's a "note"` AS `tidegate_1`, t.`b` AS `tidegate_2` FROM (SELECT 1 AS one) AS o LEFT JOIN `sales`.`odd "orders" ``of`` [x] {y} 100%` AS t ON 1 = 0 LIMIT 0;
SELECT @@local_infile;
LOAD DATA LOCAL INFILE 'rows of tidegate' INTO TABLE `none`.`tidegate_1` CHARACTER SET utf8mb4
FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY '' LINES TERMINATED BY '
' (`tidegate_0`, `tidegate_1`, @field2) SET `tidegate_2` = UNHEX(@field2);
INSERT INTO `none`.`tidegate_1` (`tidegate_0`, `tidegate_1`, `tidegate_2`) SELECT `cobid`, `it's a "note"`, `b` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `cobid` = CAST('20240115' AS SIGNED) FOR UPDATE;
INSERT INTO `none`.`tidegate_1` (`tidegate_0`, `tidegate_1`, `tidegate_2`) SELECT `cobid`, `it's a "note"`, `b` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` FOR UPDATE;
UPDATE `sales`.`odd "orders" ``of`` [x] {y} 100%` AS t JOIN `none`.`tidegate_1` AS s ON `t`.`cobid` = `s`.`tidegate_0` SET t.`it's a "note"` = s.`tidegate_1`, t.`b` = s.`tidegate_2`;
DROP TEMPORARY TABLE IF EXISTS `none`.`tidegate_1`;
