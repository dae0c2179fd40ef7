"""The open transactions that may still write to a table.

Facts that shape this file
 * GETDATE() is the moment of a statement. So only a transaction that has written to the database, which begins with its
   first log record, can bring a row that is older than this moment.
 * The views need VIEW SERVER STATE; without it the server refuses the whole query.
 * transaction_type 2 is a read-only transaction.
"""

from __future__ import annotations

from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Sql, render, sql

_TRANSACTIONS = """
SELECT COALESCE((
  SELECT CONCAT(st.session_id, ' ', CONVERT(nvarchar(30), a.transaction_begin_time, 126)) AS session,
         CONCAT(s.login_name, ' ', s.program_name) AS who,
         DATEDIFF(SECOND, d.database_transaction_begin_time, GETDATE()) + 1 AS age,
         CONVERT(bit, CASE WHEN EXISTS (
           SELECT 1 FROM sys.dm_tran_locks AS l WHERE l.request_session_id = st.session_id
           AND l.resource_type = 'OBJECT' AND l.resource_database_id = DB_ID()
           AND l.resource_associated_entity_id = OBJECT_ID({table}) AND l.request_mode IN ('IX', 'SIX', 'X')
         ) THEN 1 ELSE 0 END) AS wrote
  FROM sys.dm_tran_session_transactions AS st
  JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = st.transaction_id
  JOIN sys.dm_tran_database_transactions AS d ON d.transaction_id = st.transaction_id AND d.database_id = DB_ID()
  LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = st.session_id
  WHERE st.session_id <> @@SPID AND a.transaction_type <> 2 AND d.database_transaction_begin_time IS NOT NULL
  FOR JSON PATH), N'[]')
"""


def open_transactions(table: TableName) -> Sql:
    return sql(_TRANSACTIONS.strip(), table=Literal(render(Name(Name.of(table).parts), DIALECT)))
