SELECT (SELECT CAST(max(`a`) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`), (SELECT CAST(max(`a`) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `a` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6))), (SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `a` >= CAST('2024-01-31 12:00:00.125' AS DATETIME(6))), (SELECT COALESCE(JSON_ARRAYAGG(JSON_OBJECT(
    'session', CONCAT(t.trx_mysql_thread_id, ' ', t.trx_started),
    'who', CONCAT(p.USER, '@', p.HOST),
    'age', TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) + 1,
    'wrote', 1)), '[]')
FROM information_schema.INNODB_TRX AS t
JOIN information_schema.PROCESSLIST AS p ON p.ID = t.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id <> CONNECTION_ID() AND t.trx_is_read_only = 0
  AND (t.trx_rows_modified > 0 OR t.trx_query IS NOT NULL));
SELECT CAST(max(`a`) AS CHAR), CAST(max(CASE WHEN `a` IS NULL THEN `b` END) AS CHAR), CAST(max(CASE WHEN 1 = 1 AND (`a` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) OR (`a` IS NULL AND `b` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)))) THEN `a` END) AS CHAR), CAST(max(CASE WHEN `a` IS NULL AND (`a` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) OR (`a` IS NULL AND `b` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)))) THEN `b` END) AS CHAR), count(CASE WHEN (`a` >= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) OR (`a` IS NULL AND `b` >= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)))) THEN 1 END), (SELECT COALESCE(JSON_ARRAYAGG(JSON_OBJECT(
    'session', CONCAT(t.trx_mysql_thread_id, ' ', t.trx_started),
    'who', CONCAT(p.USER, '@', p.HOST),
    'age', TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) + 1,
    'wrote', 1)), '[]')
FROM information_schema.INNODB_TRX AS t
JOIN information_schema.PROCESSLIST AS p ON p.ID = t.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id <> CONNECTION_ID() AND t.trx_is_read_only = 0
  AND (t.trx_rows_modified > 0 OR t.trx_query IS NOT NULL)) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
SELECT CAST(max(`a`) AS CHAR), CAST(max(`b`) AS CHAR), CAST(max(CASE WHEN 1 = 1 AND (`a` IS NULL OR `a` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6))) AND (`b` IS NULL OR `b` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6))) AND (`a` IS NOT NULL OR `b` IS NOT NULL) THEN `a` END) AS CHAR), CAST(max(CASE WHEN 1 = 1 AND (`a` IS NULL OR `a` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6))) AND (`b` IS NULL OR `b` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6))) AND (`a` IS NOT NULL OR `b` IS NOT NULL) THEN `b` END) AS CHAR), count(CASE WHEN (`a` >= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) OR `b` >= CAST('2024-01-31 12:00:00.125' AS DATETIME(6))) THEN 1 END), (SELECT COALESCE(JSON_ARRAYAGG(JSON_OBJECT(
    'session', CONCAT(t.trx_mysql_thread_id, ' ', t.trx_started),
    'who', CONCAT(p.USER, '@', p.HOST),
    'age', TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) + 1,
    'wrote', 1)), '[]')
FROM information_schema.INNODB_TRX AS t
JOIN information_schema.PROCESSLIST AS p ON p.ID = t.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id <> CONNECTION_ID() AND t.trx_is_read_only = 0
  AND (t.trx_rows_modified > 0 OR t.trx_query IS NOT NULL)) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
SELECT (SELECT CAST(max(`a`) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`), (SELECT CAST(max(`a`) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE 1 = 1), (SELECT count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `a` IS NOT NULL), NULL;
SELECT CAST(MIN(number) AS CHAR) FROM (SELECT `load_id` AS number, LEAD(`load_id`) OVER (ORDER BY `load_id`) AS next_number FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE 1 = 1) AS numbered WHERE next_number > number + 1;
SELECT CAST(MIN(number) AS CHAR) FROM (SELECT `load_id` AS number, LEAD(`load_id`) OVER (ORDER BY `load_id`) AS next_number FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `load_id` >= CAST('20240131' AS SIGNED)) AS numbered WHERE next_number > number + 1;
