"""What the wire allows: two connections, binary COPY, to nowhere. Only PostgreSQL has it."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import psycopg


def extract(job: dict[str, Any]) -> dict[str, Any]:
    with psycopg.connect(job["source"]) as connection:
        days = [row[0] for row in connection.execute(f"SELECT DISTINCT cob FROM {job['table']} ORDER BY cob")]
    with ProcessPoolExecutor(2) as pool:
        size = sum(pool.map(_copied, [(job, days[::2]), (job, days[1::2])]))
    return {"bytes": size}


def _copied(part: tuple[dict[str, Any], list[int]]) -> int:
    job, days = part
    size = 0
    with psycopg.connect(job["source"]) as connection, connection.cursor() as cursor:
        for day in days:
            query = f"COPY (SELECT * FROM {job['table']} WHERE cob = {day}) TO STDOUT (FORMAT binary)"
            with cursor.copy(query) as copy:
                size += sum(len(data) for data in copy)
    return size


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract}[job["work"]](job)))
