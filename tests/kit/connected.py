"""A program that runs and verifies on a Spark Connect session: `python -m kit.connected CONFIGURATION`."""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from tidegate import Tidegate


def main(configuration: str) -> None:
    session = SparkSession.builder.remote("local[2]").getOrCreate()
    try:
        tidegate = Tidegate.from_file(configuration, spark=session)
        outcomes = [tidegate.run().outcome, tidegate.verify().outcome, tidegate.run().outcome]
        sys.stdout.write(json.dumps({"session": type(session).__module__, "outcomes": outcomes}))
    finally:
        session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
