SELECT CASE WHEN EXISTS (SELECT 1 FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` PARTITION (`p20240131`)) THEN 1 ELSE 0 END;
SELECT CASE WHEN EXISTS (SELECT 1 FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` PARTITION (`p20240131`) WHERE `cobid` IS NULL OR NOT (`cobid` = CAST('20240131' AS SIGNED))) THEN 1 ELSE 0 END;
INSERT INTO `sales`.`odd "orders"_STAGE_1` (`cobid`) SELECT `cobid` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` PARTITION (`p20240131`) WHERE `cobid` IS NULL OR NOT (`cobid` = CAST('20240131' AS SIGNED));
