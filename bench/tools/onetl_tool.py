"""onETL: its readers and writers over Spark's JDBC source, as its manual has it."""

from __future__ import annotations

import json
import sys
from typing import Any
from urllib.parse import unquote, urlsplit

from onetl.connection import Postgres, SparkLocalFS
from onetl.db import DBReader, DBWriter
from onetl.file import FileDFWriter
from onetl.file.format import Parquet
from pyspark.sql import SparkSession


def _spark(job: dict[str, Any]) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.jars", job["jars"])
    builder = builder.config("spark.driver.memory", "2g").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()


def _postgres(spark: SparkSession, url: str) -> Postgres:
    at = urlsplit(url)
    return Postgres(
        host=at.hostname,
        port=at.port,
        user=at.username,
        password=unquote(at.password or ""),
        database=at.path[1:],
        spark=spark,
    )


def _halves(job: dict[str, Any]) -> Any:
    return Postgres.ReadOptions(
        partitioning_mode="range",
        partition_column="id",
        num_partitions=2,
        fetchsize=10_000,
        preferTimestampNTZ=True,
        lower_bound=1,
        upper_bound=job["rows"],
    )


def extract(job: dict[str, Any]) -> dict[str, Any]:
    spark = _spark(job)
    postgres = _postgres(spark, job["source"])
    days = f"cob >= {20240801 + 10 - job['days']}" if job["days"] < 10 else None
    frame = DBReader(connection=postgres, source=f"public.{job['table']}", where=days, options=_halves(job)).run()
    writer = FileDFWriter(connection=SparkLocalFS(spark=spark), format=Parquet(), target_path=job["folder"])
    writer.run(frame)
    return {}


def append(job: dict[str, Any]) -> dict[str, Any]:
    """What is newer than what the target has; all of it where the target has no table."""
    spark = _spark(job)
    source, target = _postgres(spark, job["source"]), _postgres(spark, job["target"])
    table = f"public.{job['table']}"
    has_table = f"SELECT to_regclass('{table}')::text AS found"
    where, options = None, _halves(job)
    if target.fetch(has_table).first()["found"]:
        newest = target.fetch(f"SELECT max(cob) AS newest FROM {table}").first()["newest"]
        where, options = f"cob > {newest}", Postgres.ReadOptions(fetchsize=10_000, preferTimestampNTZ=True)
    frame = DBReader(connection=source, source=table, where=where, options=options).run()
    written = Postgres.WriteOptions(batchsize=10_000, if_exists="append")
    DBWriter(connection=target, target=table, options=written).run(frame)
    return {}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract, "append": append}[job["work"]](job)))
