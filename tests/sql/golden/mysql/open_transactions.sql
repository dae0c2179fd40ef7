SELECT (SELECT COALESCE(JSON_ARRAYAGG(JSON_OBJECT(
    'session', CONCAT(t.trx_mysql_thread_id, ' ', t.trx_started),
    'who', CONCAT(p.USER, '@', p.HOST),
    'age', TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) + 1,
    'wrote', 1)), '[]')
FROM information_schema.INNODB_TRX AS t
JOIN information_schema.PROCESSLIST AS p ON p.ID = t.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id <> CONNECTION_ID() AND t.trx_is_read_only = 0
  AND (t.trx_rows_modified > 0 OR t.trx_query IS NOT NULL));
