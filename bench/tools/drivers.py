"""Resolves JDBC drivers by their coordinates, into a folder; says where they are, as Spark takes it."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

if __name__ == "__main__":
    folder, *coordinates = sys.argv[1:]
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars.ivy", folder).config("spark.jars.packages", ",".join(coordinates))
    print(builder.getOrCreate().sparkContext.getConf().get("spark.jars"))
