DROP PROCEDURE IF EXISTS [odd schema].[sp_cleanup_snapshot_history_snap's];
EXEC(N'CREATE PROCEDURE [odd schema].[sp_cleanup_snapshot_history_snap''s] @customer_filter nvarchar(255) = NULL, @keep_count int = 2
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    IF @keep_count IS NULL OR @keep_count < 1 THROW 50000, N''@keep_count must be 1 or more.'', 1;
    DECLARE @rows bigint = 0, @snapshots bigint = 0;
    SELECT ranked.customer_filter, ranked.batch_id INTO #old_snapshots
    FROM (
        SELECT r.customer_filter, r.batch_id,
               ROW_NUMBER() OVER (PARTITION BY r.customer_filter ORDER BY r.snapshot_date DESC) AS number
        FROM [tidegate].[snapshots] AS r
        WHERE r.snapshot_table = N''odd schema.snap''''s'' AND (@customer_filter IS NULL OR r.customer_filter = @customer_filter)
    ) AS ranked
    WHERE ranked.number > @keep_count;
    BEGIN TRANSACTION;
    DELETE t FROM [odd schema].[snap''s] AS t
    JOIN #old_snapshots AS o ON t.batch_id = CONVERT(uniqueidentifier, o.batch_id)
        AND t.customer_filter COLLATE Latin1_General_100_BIN2 = o.customer_filter COLLATE Latin1_General_100_BIN2;
    SET @rows = ROWCOUNT_BIG();
    DELETE r FROM [tidegate].[snapshots] AS r
    JOIN #old_snapshots AS o ON r.batch_id = o.batch_id AND r.customer_filter = o.customer_filter
    WHERE r.snapshot_table = N''odd schema.snap''''s'';
    SET @snapshots = ROWCOUNT_BIG();
    COMMIT TRANSACTION;
    SELECT @snapshots AS removed_snapshots, @rows AS removed_rows;
END');
DROP PROCEDURE IF EXISTS [odd schema].[sp_snapshot_statistics_snap's];
EXEC(N'CREATE PROCEDURE [odd schema].[sp_snapshot_statistics_snap''s]
AS
BEGIN
    SET NOCOUNT ON;
    SELECT r.customer_filter, COUNT_BIG(*) AS snapshot_count, SUM(r.row_total) AS total_rows,
           COUNT_BIG(r.archive_id) AS archived_count,
           CONVERT(datetime2(6), MIN(r.snapshot_date), 121) AS oldest_snapshot,
           CONVERT(datetime2(6), MAX(r.snapshot_date), 121) AS newest_snapshot
    FROM [tidegate].[snapshots] AS r
    WHERE r.snapshot_table = N''odd schema.snap''''s''
    GROUP BY r.customer_filter
    ORDER BY r.customer_filter;
END');
DROP PROCEDURE IF EXISTS [dbo].[sp_cleanup_snapshot_history];
EXEC(N'CREATE PROCEDURE [dbo].[sp_cleanup_snapshot_history] @customer_filter nvarchar(255) = NULL, @keep_count int = 2
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    IF @keep_count IS NULL OR @keep_count < 1 THROW 50000, N''@keep_count must be 1 or more.'', 1;
    DECLARE @rows bigint = 0, @snapshots bigint = 0;
    SELECT ranked.customer_filter, ranked.batch_id INTO #old_snapshots
    FROM (
        SELECT r.customer_filter, r.batch_id,
               ROW_NUMBER() OVER (PARTITION BY r.customer_filter ORDER BY r.snapshot_date DESC) AS number
        FROM [tidegate].[snapshots] AS r
        WHERE r.snapshot_table = N''dbo.ORDERS_UNIFIED_SNAPSHOT'' AND (@customer_filter IS NULL OR r.customer_filter = @customer_filter)
    ) AS ranked
    WHERE ranked.number > @keep_count;
    BEGIN TRANSACTION;
    DELETE t FROM [dbo].[ORDERS_UNIFIED_SNAPSHOT] AS t
    JOIN #old_snapshots AS o ON t.batch_id = CONVERT(uniqueidentifier, o.batch_id)
        AND t.customer_filter COLLATE Latin1_General_100_BIN2 = o.customer_filter COLLATE Latin1_General_100_BIN2;
    SET @rows = ROWCOUNT_BIG();
    DELETE r FROM [tidegate].[snapshots] AS r
    JOIN #old_snapshots AS o ON r.batch_id = o.batch_id AND r.customer_filter = o.customer_filter
    WHERE r.snapshot_table = N''dbo.ORDERS_UNIFIED_SNAPSHOT'';
    SET @snapshots = ROWCOUNT_BIG();
    COMMIT TRANSACTION;
    SELECT @snapshots AS removed_snapshots, @rows AS removed_rows;
END');
DROP PROCEDURE IF EXISTS [dbo].[sp_snapshot_statistics];
EXEC(N'CREATE PROCEDURE [dbo].[sp_snapshot_statistics]
AS
BEGIN
    SET NOCOUNT ON;
    SELECT r.customer_filter, COUNT_BIG(*) AS snapshot_count, SUM(r.row_total) AS total_rows,
           COUNT_BIG(r.archive_id) AS archived_count,
           CONVERT(datetime2(6), MIN(r.snapshot_date), 121) AS oldest_snapshot,
           CONVERT(datetime2(6), MAX(r.snapshot_date), 121) AS newest_snapshot
    FROM [tidegate].[snapshots] AS r
    WHERE r.snapshot_table = N''dbo.ORDERS_UNIFIED_SNAPSHOT''
    GROUP BY r.customer_filter
    ORDER BY r.customer_filter;
END');
