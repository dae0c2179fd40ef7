SELECT @@local_infile;
LOAD DATA LOCAL INFILE 'rows of tidegate' INTO TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` CHARACTER SET utf8mb4
FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY '' LINES TERMINATED BY '
' (`cobid`, @field1, @field2, @field3, @field4) SET `b` = UNHEX(@field1), `bits` = CAST(CONV(@field2, 2, 10) AS UNSIGNED), `shape` = UNHEX(@field3), `y` = LPAD(@field4, 4, '0');
-- then its rows:
-- 7,00ff,"00000101",00000000010100000000000000000000000000000000000000,0
-- 8,,NULL,NULL,NULL
