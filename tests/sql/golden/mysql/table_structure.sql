SELECT s.TABLE_SCHEMA, s.TABLE_NAME, 'index', s.INDEX_NAME, s.NON_UNIQUE,
       CASE WHEN s.INDEX_TYPE = 'BTREE' AND s.SUB_PART IS NULL THEN s.COLUMN_NAME END, s.SEQ_IN_INDEX
FROM information_schema.STATISTICS AS s
WHERE s.INDEX_NAME <> 'PRIMARY' AND (s.TABLE_SCHEMA, s.TABLE_NAME) IN (('sales', 'odd "orders" `of` [x] {y} 100%'), ('sales', 'daily'))
UNION ALL
SELECT c.TABLE_SCHEMA, c.TABLE_NAME, 'default', c.COLUMN_NAME, c.EXTRA LIKE '%DEFAULT_GENERATED%', c.COLUMN_DEFAULT, 0
FROM information_schema.COLUMNS AS c
WHERE c.COLUMN_DEFAULT IS NOT NULL AND c.COLUMN_DEFAULT <> 'NULL' AND (c.TABLE_SCHEMA, c.TABLE_NAME) IN (('sales', 'odd "orders" `of` [x] {y} 100%'), ('sales', 'daily'))
UNION ALL
SELECT c.TABLE_SCHEMA, c.TABLE_NAME, 'comment', c.COLUMN_NAME, 0, c.COLUMN_COMMENT, 0
FROM information_schema.COLUMNS AS c
WHERE c.COLUMN_COMMENT <> '' AND (c.TABLE_SCHEMA, c.TABLE_NAME) IN (('sales', 'odd "orders" `of` [x] {y} 100%'), ('sales', 'daily'))
UNION ALL
SELECT t.TABLE_SCHEMA, t.TABLE_NAME, 'comment', '', 0, t.TABLE_COMMENT, 0
FROM information_schema.TABLES AS t
WHERE t.TABLE_TYPE = 'BASE TABLE' AND t.TABLE_COMMENT <> '' AND (t.TABLE_SCHEMA, t.TABLE_NAME) IN (('sales', 'odd "orders" `of` [x] {y} 100%'), ('sales', 'daily'))
ORDER BY 1, 2, 3, 4, 7;
CREATE UNIQUE INDEX `by_code` ON `sales`.`odd "orders" ``of`` [x] {y} 100%` (`code`, `note`);
ALTER TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` ADD CONSTRAINT `fk` FOREIGN KEY (`cobid`, `code`) REFERENCES `sales`.`daily` (`id`, `code`);
ALTER TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` ALTER COLUMN `note` SET DEFAULT 'it''s';
ALTER TABLE `sales`.`odd "orders" ``of`` [x] {y} 100%` COMMENT = 'it''s ours';
