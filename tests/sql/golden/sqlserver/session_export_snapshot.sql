SELECT d.snapshot_isolation_state, d.is_read_committed_snapshot_on FROM sys.databases AS d WHERE d.database_id = DB_ID();
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
