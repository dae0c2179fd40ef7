SELECT (SELECT CONVERT(nvarchar(50), max([a]), 121) FROM [sales]."odd ""orders"" `of` [x] {y} 100%"), (SELECT CONVERT(nvarchar(50), max([a]), 121) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a] <= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121)), (SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a] >= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121)), (SELECT COALESCE((
  SELECT CONCAT(st.session_id, ' ', CONVERT(nvarchar(30), a.transaction_begin_time, 126)) AS session,
         CONCAT(s.login_name, ' ', s.program_name) AS who,
         DATEDIFF(SECOND, d.database_transaction_begin_time, GETDATE()) + 1 AS age,
         CONVERT(bit, CASE WHEN EXISTS (
           SELECT 1 FROM sys.dm_tran_locks AS l WHERE l.request_session_id = st.session_id
           AND l.resource_type = 'OBJECT' AND l.resource_database_id = DB_ID()
           AND l.resource_associated_entity_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND l.request_mode IN ('IX', 'SIX', 'X')
         ) THEN 1 ELSE 0 END) AS wrote
  FROM sys.dm_tran_session_transactions AS st
  JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = st.transaction_id
  JOIN sys.dm_tran_database_transactions AS d ON d.transaction_id = st.transaction_id AND d.database_id = DB_ID()
  LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = st.session_id
  WHERE st.session_id <> @@SPID AND a.transaction_type <> 2 AND d.database_transaction_begin_time IS NOT NULL
  FOR JSON PATH), N'[]'));
SELECT CONVERT(nvarchar(50), max([a]), 121), CONVERT(nvarchar(50), max(CASE WHEN [a] IS NULL THEN [b] END), 121), CONVERT(nvarchar(50), max(CASE WHEN 1 = 1 AND ([a] <= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121) OR ([a] IS NULL AND [b] <= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121))) THEN [a] END), 121), CONVERT(nvarchar(50), max(CASE WHEN [a] IS NULL AND ([a] <= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121) OR ([a] IS NULL AND [b] <= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121))) THEN [b] END), 121), COUNT_BIG(CASE WHEN ([a] >= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121) OR ([a] IS NULL AND [b] >= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121))) THEN 1 END), (SELECT COALESCE((
  SELECT CONCAT(st.session_id, ' ', CONVERT(nvarchar(30), a.transaction_begin_time, 126)) AS session,
         CONCAT(s.login_name, ' ', s.program_name) AS who,
         DATEDIFF(SECOND, d.database_transaction_begin_time, GETDATE()) + 1 AS age,
         CONVERT(bit, CASE WHEN EXISTS (
           SELECT 1 FROM sys.dm_tran_locks AS l WHERE l.request_session_id = st.session_id
           AND l.resource_type = 'OBJECT' AND l.resource_database_id = DB_ID()
           AND l.resource_associated_entity_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND l.request_mode IN ('IX', 'SIX', 'X')
         ) THEN 1 ELSE 0 END) AS wrote
  FROM sys.dm_tran_session_transactions AS st
  JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = st.transaction_id
  JOIN sys.dm_tran_database_transactions AS d ON d.transaction_id = st.transaction_id AND d.database_id = DB_ID()
  LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = st.session_id
  WHERE st.session_id <> @@SPID AND a.transaction_type <> 2 AND d.database_transaction_begin_time IS NOT NULL
  FOR JSON PATH), N'[]')) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
SELECT CONVERT(nvarchar(50), max([a]), 121), CONVERT(nvarchar(50), max([b]), 121), CONVERT(nvarchar(50), max(CASE WHEN 1 = 1 AND ([a] IS NULL OR [a] <= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121)) AND ([b] IS NULL OR [b] <= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121)) AND ([a] IS NOT NULL OR [b] IS NOT NULL) THEN [a] END), 121), CONVERT(nvarchar(50), max(CASE WHEN 1 = 1 AND ([a] IS NULL OR [a] <= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121)) AND ([b] IS NULL OR [b] <= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121)) AND ([a] IS NOT NULL OR [b] IS NOT NULL) THEN [b] END), 121), COUNT_BIG(CASE WHEN ([a] >= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121) OR [b] >= CONVERT(datetime2(6), N'2024-01-31 12:00:00.125', 121)) THEN 1 END), (SELECT COALESCE((
  SELECT CONCAT(st.session_id, ' ', CONVERT(nvarchar(30), a.transaction_begin_time, 126)) AS session,
         CONCAT(s.login_name, ' ', s.program_name) AS who,
         DATEDIFF(SECOND, d.database_transaction_begin_time, GETDATE()) + 1 AS age,
         CONVERT(bit, CASE WHEN EXISTS (
           SELECT 1 FROM sys.dm_tran_locks AS l WHERE l.request_session_id = st.session_id
           AND l.resource_type = 'OBJECT' AND l.resource_database_id = DB_ID()
           AND l.resource_associated_entity_id = OBJECT_ID(N'[sales]."odd ""orders"" `of` [x] {y} 100%"') AND l.request_mode IN ('IX', 'SIX', 'X')
         ) THEN 1 ELSE 0 END) AS wrote
  FROM sys.dm_tran_session_transactions AS st
  JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = st.transaction_id
  JOIN sys.dm_tran_database_transactions AS d ON d.transaction_id = st.transaction_id AND d.database_id = DB_ID()
  LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = st.session_id
  WHERE st.session_id <> @@SPID AND a.transaction_type <> 2 AND d.database_transaction_begin_time IS NOT NULL
  FOR JSON PATH), N'[]')) FROM [sales]."odd ""orders"" `of` [x] {y} 100%";
SELECT (SELECT CONVERT(nvarchar(50), max([a]), 121) FROM [sales]."odd ""orders"" `of` [x] {y} 100%"), (SELECT CONVERT(nvarchar(50), max([a]), 121) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE 1 = 1), (SELECT COUNT_BIG(*) FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [a] IS NOT NULL), NULL;
SELECT CONVERT(nvarchar(50), MIN(number)) FROM (SELECT number, LEAD(number) OVER (ORDER BY number) AS next_number FROM (SELECT [load_id] AS number FROM [sales]."odd ""orders"" `of` [x] {y} 100%" WHERE [load_id] >= CONVERT(bigint, N'20240131') UNION SELECT CONVERT(bigint, N'20240131')) AS numbers) AS numbered WHERE next_number > number + 1;
