CREATE TABLE IF NOT EXISTS public.snapshot_archive (
    archive_id BIGSERIAL PRIMARY KEY,
    snapshot_date TIMESTAMP NOT NULL,
    customer_filter VARCHAR(255) NOT NULL,
    parquet_data BYTEA NOT NULL,
    parquet_size BIGINT,
    compression_ratio DECIMAL(14,2),
    schema_hash VARCHAR(64),
    tags JSONB,
    retention_until DATE
);
ALTER TABLE public.snapshot_archive
    ALTER COLUMN compression_ratio TYPE DECIMAL(14,2),
    ALTER COLUMN parquet_data SET STORAGE EXTERNAL,
    ADD COLUMN IF NOT EXISTS snapshot_table TEXT,
    ADD COLUMN IF NOT EXISTS batch_id UUID,
    ADD COLUMN IF NOT EXISTS row_total BIGINT,
    ADD COLUMN IF NOT EXISTS uncompressed_size BIGINT,
    ADD COLUMN IF NOT EXISTS chunk_total INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS chunk_bytes INTEGER,
    ADD COLUMN IF NOT EXISTS content_hash VARCHAR(64),
    ADD COLUMN IF NOT EXISTS default_retention DATE;
CREATE TABLE IF NOT EXISTS public.snapshot_archive_chunk (
    archive_id BIGINT NOT NULL REFERENCES public.snapshot_archive ON DELETE CASCADE,
    number INTEGER NOT NULL,
    data BYTEA NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    PRIMARY KEY (archive_id, number)
);
ALTER TABLE public.snapshot_archive_chunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX IF NOT EXISTS snapshot_archive_batch ON public.snapshot_archive (snapshot_table, customer_filter, batch_id);
CREATE INDEX IF NOT EXISTS snapshot_archive_date ON public.snapshot_archive (customer_filter, snapshot_date);
DROP FUNCTION IF EXISTS public.get_archive_statistics(VARCHAR, INTEGER);
DROP FUNCTION IF EXISTS public.cleanup_old_archives(INTEGER, BOOLEAN);
DROP FUNCTION IF EXISTS public.validate_archive_integrity(BIGINT);
DROP FUNCTION IF EXISTS public.validate_archive_integrity();
CREATE OR REPLACE FUNCTION public.get_archive_statistics(
    p_customer_filter VARCHAR DEFAULT NULL, p_days_back INTEGER DEFAULT 30
) RETURNS TABLE (
    customer_filter VARCHAR, archive_count BIGINT, total_rows NUMERIC, total_size_bytes NUMERIC,
    total_uncompressed_bytes NUMERIC, avg_compression_ratio NUMERIC,
    oldest_snapshot TIMESTAMP, newest_snapshot TIMESTAMP
) LANGUAGE sql STABLE AS $$
    SELECT a.customer_filter, count(*), sum(a.row_total), sum(a.parquet_size), sum(a.uncompressed_size),
           round(avg(a.compression_ratio), 2), min(a.snapshot_date), max(a.snapshot_date)
    FROM public.snapshot_archive AS a
    WHERE (p_customer_filter IS NULL OR a.customer_filter = p_customer_filter)
      AND a.snapshot_date >= (now() AT TIME ZONE 'UTC') - make_interval(days => p_days_back)
    GROUP BY a.customer_filter
    ORDER BY a.customer_filter
$$;
CREATE OR REPLACE FUNCTION public.cleanup_old_archives(
    p_keep_days INTEGER DEFAULT 90, p_dry_run BOOLEAN DEFAULT TRUE
) RETURNS TABLE (
    archive_id BIGINT, snapshot_date TIMESTAMP, customer_filter VARCHAR, parquet_size BIGINT, deleted BOOLEAN
) LANGUAGE plpgsql AS $$
DECLARE
    today DATE := (now() AT TIME ZONE 'UTC')::DATE;
    expired BIGINT[];
BEGIN
    IF p_keep_days IS NULL OR p_keep_days < 0 THEN
        RAISE EXCEPTION 'p_keep_days must be 0 or more';
    END IF;
    SELECT array_agg(a.archive_id) INTO expired
    FROM public.snapshot_archive AS a
    WHERE CASE WHEN a.retention_until IS DISTINCT FROM a.default_retention THEN a.retention_until < today
               ELSE a.snapshot_date < today - p_keep_days END;
    RETURN QUERY
        SELECT a.archive_id, a.snapshot_date, a.customer_filter, a.parquet_size, NOT p_dry_run
        FROM public.snapshot_archive AS a WHERE a.archive_id = ANY (expired) ORDER BY a.archive_id;
    IF NOT p_dry_run THEN
        DELETE FROM public.snapshot_archive AS a WHERE a.archive_id = ANY (expired);
    END IF;
END $$;
CREATE OR REPLACE FUNCTION public.validate_archive_integrity(p_archive_id BIGINT DEFAULT NULL)
RETURNS TABLE (archive_id BIGINT, is_valid BOOLEAN, problem TEXT) LANGUAGE sql STABLE AS $$
    WITH chunk AS (
        SELECT c.archive_id, count(*) AS total, min(c.number) AS first, max(c.number) AS last,
               sum(length(c.data)) AS size,
               bool_and(c.sha256 = encode(sha256(c.data), 'hex')) AS is_intact,
               encode(sha256(convert_to(string_agg(c.sha256, '' ORDER BY c.number), 'UTF8')), 'hex') AS content,
               bool_or(c.number = 0 AND substring(c.data FROM 1 FOR 4) = 'PAR1'::bytea) AS begins
        FROM public.snapshot_archive_chunk AS c
        WHERE p_archive_id IS NULL OR c.archive_id = p_archive_id
        GROUP BY c.archive_id
    ), found AS (
        SELECT a.archive_id, CASE
            WHEN a.chunk_total > 0 AND c.total IS DISTINCT FROM a.chunk_total::BIGINT THEN 'chunks are missing'
            WHEN a.chunk_total > 0 AND (c.first <> 0 OR c.last <> a.chunk_total - 1) THEN 'chunks are missing'
            WHEN a.chunk_total > 0 AND NOT c.is_intact THEN 'the bytes of a chunk changed'
            WHEN a.chunk_total > 0 AND c.size <> a.parquet_size THEN 'the size changed'
            WHEN a.chunk_total > 0 AND c.content <> a.content_hash THEN 'the chunks changed'
            WHEN a.chunk_total > 0 AND NOT c.begins THEN 'it is no Parquet file'
            WHEN a.chunk_total > 0 THEN NULL
            WHEN c.total > 0 THEN 'it has chunks that nobody counted'
            WHEN length(a.parquet_data) < 12 THEN 'the Parquet file is missing'
            WHEN length(a.parquet_data) IS DISTINCT FROM coalesce(a.parquet_size, length(a.parquet_data)::BIGINT)
                THEN 'the size changed'
            WHEN encode(sha256(a.parquet_data), 'hex') <> a.content_hash THEN 'the bytes changed'
            WHEN substring(a.parquet_data FROM 1 FOR 4) <> 'PAR1'::bytea
              OR substring(a.parquet_data FROM length(a.parquet_data) - 3 FOR 4) <> 'PAR1'::bytea
                THEN 'it is no Parquet file'
        END AS problem
        FROM public.snapshot_archive AS a LEFT JOIN chunk AS c ON c.archive_id = a.archive_id
        WHERE p_archive_id IS NULL OR a.archive_id = p_archive_id
    )
    SELECT f.archive_id, f.problem IS NULL, f.problem FROM found AS f ORDER BY f.archive_id
$$;
