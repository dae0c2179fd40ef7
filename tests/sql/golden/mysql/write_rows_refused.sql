SELECT @@local_infile;
LOAD DATA LOCAL INFILE 'rows of tidegate' INTO TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` CHARACTER SET utf8mb4
FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY '' LINES TERMINATED BY '
' (`cobid`, `it's a "note"`);
-- then its rows:
-- 7,"say ""hi"", it's
-- \.
-- "
-- 8,NULL
SHOW WARNINGS LIMIT 1;
