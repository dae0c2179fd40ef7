"""Spark's own JDBC source and sink, with the settings that its manual and its users recommend."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyspark.sql import SparkSession

DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "mysql": "org.mariadb.jdbc.Driver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
}


def session(job: dict[str, Any]) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.jars", job["jars"])
    builder = builder.config("spark.driver.memory", "2g").config("spark.ui.enabled", "false")
    # Timestamps as everybody else writes them, not as INT96.
    builder = builder.config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()


def start(job: dict[str, Any]) -> dict[str, Any]:
    """A session as it comes, and a first job of the sort that moves rows by Python."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # otherwise the first Python of the path, which lacks pyarrow
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    spark.range(0, 2, 1, 2).mapInArrow(lambda batches: batches, "id bigint").collect()
    spark.stop()
    return {}


def extract(job: dict[str, Any]) -> dict[str, Any]:
    reader = session(job).read.format("jdbc").option("url", job["jdbc_source"]).option("dbtable", job["table"])
    reader = reader.option("driver", DRIVERS[job["database"]]).option("fetchsize", 10_000)
    reader = reader.option("preferTimestampNTZ", "true")
    reader = reader.option("partitionColumn", "id").option("lowerBound", 1).option("upperBound", job["rows"])
    frame = reader.option("numPartitions", 2).load()
    if job["days"] < 10:
        frame = frame.where(f"cob >= {20240801 + 10 - job['days']}")
    frame.write.mode("overwrite").parquet(job["folder"])
    return {}


def load(job: dict[str, Any]) -> dict[str, Any]:
    frame = session(job).read.parquet(job["folder"]).repartition(2)
    writer = frame.write.format("jdbc").option("url", job["jdbc_target"]).option("dbtable", job["table"])
    writer.option("driver", DRIVERS[job["database"]]).option("batchsize", 10_000).mode("append").save()
    return {}


def append(job: dict[str, Any]) -> dict[str, Any]:
    """What is newer than what the target has; all of it where the target has no table."""
    spark = session(job)

    def reader(side: str) -> Any:
        options = {"url": job[side], "driver": DRIVERS[job["database"]], "fetchsize": 10_000}
        return spark.read.format("jdbc").options(**options).option("preferTimestampNTZ", "true")

    has_table = f"SELECT count(*) AS found FROM information_schema.tables WHERE table_name = '{job['table']}'"
    rows = reader("jdbc_source").option("dbtable", job["table"])
    if reader("jdbc_target").option("query", has_table).load().first()["found"]:
        newest = reader("jdbc_target").option("query", f"SELECT max(cob) AS newest FROM {job['table']}")
        rows = rows.option(
            "dbtable", f"(SELECT * FROM {job['table']} WHERE cob > {newest.load().first()['newest']}) AS t"
        )
    else:
        rows = rows.option("partitionColumn", "id").option("lowerBound", 1).option("upperBound", job["rows"])
        rows = rows.option("numPartitions", 2)
    writer = rows.load().write.format("jdbc").option("url", job["jdbc_target"]).option("dbtable", job["table"])
    writer.option("driver", DRIVERS[job["database"]]).option("batchsize", 10_000).mode("append").save()
    return {}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    works = {"start": start, "extract": extract, "load": load, "append": append}
    print(json.dumps(works[job["work"]](job)))
