"""Spark's own JDBC source and sink, with the settings that its manual and its users recommend."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyspark.sql import SparkSession

DRIVERS = {"postgresql": "org.postgresql.Driver", "mysql": "org.mariadb.jdbc.Driver"}


def session(job: dict[str, Any]) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.jars", job["jars"])
    builder = builder.config("spark.driver.memory", "2g").config("spark.ui.enabled", "false")
    # Timestamps as everybody else writes them, not as INT96.
    builder = builder.config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()


def start(job: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    spark = session(job)
    spark.range(2).repartition(2).count()
    return {"seconds": time.monotonic() - started}


def extract(job: dict[str, Any]) -> dict[str, Any]:
    spark = session(job)
    started = time.monotonic()
    reader = spark.read.format("jdbc").option("url", job["jdbc_source"]).option("dbtable", job["table"])
    reader = reader.option("driver", DRIVERS[job["kind"]]).option("fetchsize", 10_000)
    reader = reader.option("preferTimestampNTZ", "true")
    reader = reader.option("partitionColumn", "id").option("lowerBound", 1).option("upperBound", job["rows"])
    reader.option("numPartitions", 2).load().write.mode("overwrite").parquet(job["folder"])
    return {"seconds": time.monotonic() - started}


def load(job: dict[str, Any]) -> dict[str, Any]:
    spark = session(job)
    started = time.monotonic()
    frame = spark.read.parquet(job["folder"]).repartition(2)
    writer = frame.write.format("jdbc").option("url", job["jdbc_target"]).option("dbtable", job["table"])
    writer.option("driver", DRIVERS[job["kind"]]).option("batchsize", 10_000).mode("append").save()
    return {"seconds": time.monotonic() - started}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"start": start, "extract": extract, "load": load}[job["work"]](job)))
