"""PostgreSQL as the archive of snapshots: tables, functions and statements.

Facts that shape this file
 * A bytea is read and written whole, and has 1 GB at most. So a large file is stored in chunk rows of a few MB.
 * PostgreSQL compresses long values once more unless their storage is EXTERNAL. A Parquet file is compressed already.
 * An UPDATE of other columns keeps a long value where it is.
 * A function of a schema finds tables by the caller's search_path: every name here has its schema.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from tidegate.interfaces.archive import ArchiveSql, Migration
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.snapshots import Archive
from tidegate.model.types import Type
from tidegate.sql.text import Literal, Name, Part, Sql, raw, sql

_TABLES = """
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
)
"""
# A table that somebody created before, by the documented columns, gets the others.
_MORE_COLUMNS = """
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
    ADD COLUMN IF NOT EXISTS default_retention DATE
"""
_CHUNKS = """
CREATE TABLE IF NOT EXISTS public.snapshot_archive_chunk (
    archive_id BIGINT NOT NULL REFERENCES public.snapshot_archive ON DELETE CASCADE,
    number INTEGER NOT NULL,
    data BYTEA NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    PRIMARY KEY (archive_id, number)
)
"""
_STORAGE = "ALTER TABLE public.snapshot_archive_chunk ALTER COLUMN data SET STORAGE EXTERNAL"
_ONE_PER_BATCH = (
    "CREATE UNIQUE INDEX IF NOT EXISTS snapshot_archive_batch"
    " ON public.snapshot_archive (snapshot_table, customer_filter, batch_id)"
)
_BY_DATE = (
    "CREATE INDEX IF NOT EXISTS snapshot_archive_date ON public.snapshot_archive (customer_filter, snapshot_date)"
)
_STATISTICS = """
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
$$
"""
# A retention_until that somebody set decides alone; all other archives are kept for keep_days.
_CLEANUP = """
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
END $$
"""
_VALIDATE = """
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
$$
"""
# IF EXISTS: whoever installed functions of these names before may have given them other results.
_DROPS = (
    "DROP FUNCTION IF EXISTS public.get_archive_statistics(VARCHAR, INTEGER)",
    "DROP FUNCTION IF EXISTS public.cleanup_old_archives(INTEGER, BOOLEAN)",
    "DROP FUNCTION IF EXISTS public.validate_archive_integrity(BIGINT)",
    "DROP FUNCTION IF EXISTS public.validate_archive_integrity()",
)
_ID, _DATE = "bigint", "timestamp without time zone"


def _column(name: str, declared: str, logical_type: Type) -> Column:
    return Column(name, declared, logical_type.storage_type, logical_type=logical_type, database="postgresql")


class PostgresqlArchive(ArchiveSql):
    """The archive in the schema `public`, under the documented names."""

    archives = TableName("public", "snapshot_archive")
    chunks = TableName("public", "snapshot_archive_chunk")
    archive_columns = (
        _column("archive_id", _ID, Type("int64")),
        _column("snapshot_date", _DATE, Type("timestamp", 6)),
        _column("customer_filter", "character varying(255)", Type("string", 255)),
        _column("parquet_data", "bytea", Type("binary")),
    )
    chunk_columns = (
        _column("archive_id", _ID, Type("int64")),
        _column("number", "integer", Type("int32")),
        _column("data", "bytea", Type("binary")),
        _column("sha256", "character varying(64)", Type("string", 64)),
    )

    def migrations(self) -> Sequence[Migration]:
        tables = (_TABLES, _MORE_COLUMNS, _CHUNKS, _STORAGE, _ONE_PER_BATCH, _BY_DATE)
        functions = (*_DROPS, _STATISTICS, _CLEANUP, _VALIDATE)
        return (
            Migration(1, "tables of the archive", tuple(raw(text.strip()) for text in tables)),
            Migration(2, "functions of the archive", tuple(raw(text.strip()) for text in functions)),
        )

    def next_id(self) -> Sql:
        return sql("SELECT nextval(pg_get_serial_sequence('public.snapshot_archive', 'archive_id'))")

    def describe(self, archive: Archive, default_retention: str) -> Sql:
        return sql(
            "UPDATE public.snapshot_archive SET snapshot_table = {table}, batch_id = {batch}, row_total = {rows},"
            " parquet_size = {size}, uncompressed_size = {memory}, compression_ratio = {ratio}, schema_hash = {schema},"
            " chunk_total = {chunks}, chunk_bytes = {chunk_bytes}, content_hash = {content}, tags = {tags},"
            " retention_until = {until},"
            " default_retention = {default} WHERE archive_id = {id}",
            table=Literal(archive.snapshot_table),
            batch=Literal(archive.batch_id, "uuid"),
            rows=Literal(archive.rows),
            size=Literal(archive.parquet_size),
            memory=Literal(archive.uncompressed_size),
            ratio=Literal(str(archive.compression_ratio), "numeric"),
            schema=Literal(archive.schema_hash),
            chunks=Literal(archive.chunks),
            chunk_bytes=Literal(archive.chunk_bytes),
            content=Literal(archive.content_hash),
            tags=Literal(json.dumps(archive.tags), "jsonb"),
            until=Literal(archive.retention_until, "date"),
            default=Literal(default_retention, "date"),
            id=Literal(archive.archive_id),
        )

    def find(
        self, *, archive_id: int | None = None, table: str = "", customer_filter: str | None = None, batch_id: str = ""
    ) -> Sql:
        conditions: list[tuple[str, Part]] = []
        if archive_id is not None:
            conditions.append(("archive_id", Literal(archive_id)))
        if table:
            conditions.append(("snapshot_table", Literal(table)))
        if customer_filter is not None:
            conditions.append(("customer_filter", Literal(customer_filter)))
        if batch_id:
            conditions.append(("batch_id", Literal(batch_id, "uuid")))
        query = sql(
            "SELECT archive_id, coalesce(snapshot_table, ''), customer_filter, coalesce(CAST(batch_id AS text), ''),"
            " to_char(snapshot_date, 'YYYY-MM-DD HH24:MI:SS.US'), coalesce(row_total, 0),"
            " coalesce(parquet_size, length(parquet_data)), coalesce(uncompressed_size, 0), chunk_total,"
            " coalesce(content_hash, ''), coalesce(schema_hash, ''), CAST(coalesce(tags, '{{}}') AS text),"
            " CAST(retention_until AS text), coalesce(chunk_bytes, 0) FROM public.snapshot_archive WHERE true"
        )
        for column, value in conditions:
            query = sql("{query} AND {column} = {value}", query=query, column=Name.of(column), value=value)
        return sql("{query} ORDER BY snapshot_date DESC, archive_id DESC", query=query)

    def read_row(self, row: tuple[object, ...]) -> Archive:
        number, table, customer_filter, batch, date, rows, size, memory, chunks, content, schema, tags, until, chunk = (
            row
        )
        return Archive(
            archive_id=int(str(number)),
            snapshot_table=str(table),
            customer_filter=str(customer_filter),
            batch_id=str(batch),
            snapshot_date=str(date),
            rows=int(str(rows)),
            parquet_size=int(str(size)),
            uncompressed_size=int(str(memory)),
            chunks=int(str(chunks)),
            content_hash=str(content),
            schema_hash=str(schema),
            tags=json.loads(str(tags)),
            retention_until=None if until is None else str(until),
            chunk_bytes=int(str(chunk)),
        )

    def with_id(self, archive_id: int, chunk: int | None = None) -> Sql:
        found = sql("archive_id = {id}", id=Literal(archive_id))
        return found if chunk is None else sql("{found} AND number = {chunk}", found=found, chunk=Literal(chunk))

    def statistics(self, customer_filter: str | None, days_back: int) -> Sql:
        return sql(
            "SELECT customer_filter, archive_count, CAST(coalesce(total_rows, 0) AS bigint),"
            " CAST(coalesce(total_size_bytes, 0) AS bigint), CAST(coalesce(total_uncompressed_bytes, 0) AS bigint),"
            " CAST(avg_compression_ratio AS text), to_char(oldest_snapshot, 'YYYY-MM-DD HH24:MI:SS.US'),"
            " to_char(newest_snapshot, 'YYYY-MM-DD HH24:MI:SS.US')"
            " FROM public.get_archive_statistics({filter}, {days})",
            filter=Literal(customer_filter),
            days=Literal(days_back),
        )

    def expired(self, keep_days: int, *, dry_run: bool) -> Sql:
        return sql(
            "SELECT archive_id, to_char(snapshot_date, 'YYYY-MM-DD HH24:MI:SS.US'), customer_filter,"
            " coalesce(parquet_size, 0) FROM public.cleanup_old_archives({days}, {dry_run})",
            days=Literal(keep_days),
            dry_run=raw("true" if dry_run else "false"),
        )

    def validate(self, archive_id: int | None) -> Sql:
        return sql(
            "SELECT archive_id, problem FROM public.validate_archive_integrity({id})", id=Literal(archive_id, "bigint")
        )
