"""onETL: its readers and writers over Spark's JDBC source, as its manual has it."""

from __future__ import annotations

import json
import sys
from typing import Any

from onetl.connection import Postgres, SparkLocalFS
from onetl.db import DBReader
from onetl.file import FileDFWriter
from onetl.file.format import Parquet
from pyspark.sql import SparkSession


def extract(job: dict[str, Any]) -> dict[str, Any]:
    builder = SparkSession.builder.master("local[2]").config("spark.jars", job["jars"])
    builder = builder.config("spark.driver.memory", "2g").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    at = job["login"]
    postgres = Postgres(
        host=at["host"], port=at["port"], user=at["user"], password=at["password"], database=at["database"], spark=spark
    )
    options = Postgres.ReadOptions(
        partitioning_mode="range",
        partition_column="id",
        num_partitions=2,
        fetchsize=10_000,
        lower_bound=1,
        upper_bound=job["rows"],
    )
    days = f"cob >= {20240801 + 10 - job['days']}" if job["days"] < 10 else None
    frame = DBReader(connection=postgres, source=f"public.{job['table']}", where=days, options=options).run()
    writer = FileDFWriter(connection=SparkLocalFS(spark=spark), format=Parquet(), target_path=job["folder"])
    writer.run(frame)
    return {}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract}[job["work"]](job)))
