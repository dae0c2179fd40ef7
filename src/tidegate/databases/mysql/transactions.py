"""The open transactions that may still write to a table.

Facts that shape this file
 * NOW() is the moment when a statement began. So only a transaction that has written, or that is at work right now, can
   bring a row that is older than this moment.
 * INNODB_TRX needs the right PROCESS; without it the server refuses the whole query.
 * The beginning of a transaction is in the time zone of the machine, whatever zone a session has.
 * Which table a transaction wrote to is in no view that every server has. A session without a default database, or of
   another one, may name a table in full, so every writer of the server counts. That costs a little reading: the
   watermark waits where the transaction began, and for `max_hold` at most.
 * The server shows INNODB_TRX as it was up to a tenth of a second ago: a transaction whose session is gone has ended.
   The server's own threads have the session 0 there, and so has a prepared transaction (XA), which is not seen here.
"""

from __future__ import annotations

from tidegate.sql.text import Sql, sql

_TRANSACTIONS = """
SELECT COALESCE(JSON_ARRAYAGG(JSON_OBJECT(
    'session', CONCAT(t.trx_mysql_thread_id, ' ', t.trx_started),
    'who', CONCAT(p.USER, '@', p.HOST),
    'age', TIMESTAMPDIFF(SECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) + 1,
    'wrote', 1)), '[]')
FROM information_schema.INNODB_TRX AS t
JOIN information_schema.PROCESSLIST AS p ON p.ID = t.trx_mysql_thread_id
WHERE t.trx_mysql_thread_id <> CONNECTION_ID() AND t.trx_is_read_only = 0
  AND (t.trx_rows_modified > 0 OR t.trx_query IS NOT NULL)
"""


def open_transactions() -> Sql:
    return sql(_TRANSACTIONS.strip())
