"""Duplicates and gaps of a stream, found in Spark. The frame is made of numbers, so no table has to be read."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

EVERY = 1_000


def duplicates(spark: Any, rows: int) -> int:
    """Every thousandth row comes twice."""
    from pyspark.sql import functions as F

    from tidegate.consistency.duplicates import deduplicate

    names = [F.md5(F.col("id").cast("string")).alias("note"), (F.col("id") % 9973).alias("amount")]
    once = spark.range(rows).select("id", *names)
    frame = once.unionByName(once.where(F.col("id") % EVERY == 0))
    found = deduplicate(frame, ["id"], keeps_order=False)
    kept, removed = found.kept.count(), found.removed.count()
    assert kept == rows, (kept, removed)
    return int(removed)


def gaps(spark: Any, rows: int) -> int:
    """Every thousandth number is missing."""
    from pyspark.sql import functions as F

    from tidegate.consistency.gaps import missing_numbers

    return int(missing_numbers(spark.range(rows).where(F.col("id") % EVERY != 1), "id").count())


def main(job: dict[str, Any]) -> dict[str, Any]:
    from tidegate.spark.session import close_session, open_session

    session = open_session("local[2]")
    started = time.monotonic()
    found = {"duplicates": duplicates, "gaps": gaps}[job["what"]](session, job["rows"])
    seconds = time.monotonic() - started
    assert found == job["rows"] // EVERY, found
    close_session(session)
    return {"seconds": seconds, "found": found}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
