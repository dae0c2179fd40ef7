"""What wire and server allow: two connections (or one), binary COPY, from a table to nowhere or from memory into it."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import psycopg


def extract(job: dict[str, Any]) -> dict[str, Any]:
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(abs, [1, 2]))  # both are there
        started = time.monotonic()
        size = sum(pool.map(_copied, _halves(job)))
        return {"seconds": time.monotonic() - started, "bytes": size}


def _halves(job: dict[str, Any]) -> list[tuple[dict[str, Any], list[int]]]:
    with psycopg.connect(job["source"]) as connection:
        days = [row[0] for row in connection.execute(f"SELECT DISTINCT cob FROM {job['table']} ORDER BY cob DESC")]
    days = days[: job.get("days", len(days))]
    if len(days) == 1 or job.get("connections") == "1":
        return [(job, days)]
    return [(job, days[::2]), (job, days[1::2])]


def _copied(part: tuple[dict[str, Any], list[int]]) -> int:
    return sum(sum(map(len, block)) for block in _read(part))


def _read(part: tuple[dict[str, Any], list[int]]) -> Any:
    """Messages as libpq has them: psycopg's own iteration takes longer than the server."""
    job, days = part
    with psycopg.connect(job["source"], autocommit=True) as connection:
        link = connection.pgconn
        for day in days:
            link.exec_(f"COPY (SELECT * FROM {job['table']} WHERE cob = {day}) TO STDOUT (FORMAT binary)".encode())
            block = []
            while (answer := link.get_copy_data(0))[0] > 0:
                block.append(bytes(answer[1]))
            link.get_result()
            link.get_result()
            yield block


def load(job: dict[str, Any]) -> dict[str, Any]:
    """What is written was read before; the commits count, too."""
    with ProcessPoolExecutor(2) as pool:
        seconds = list(pool.map(_written, _halves(job)))
    return {"seconds": max(seconds)}


def _written(part: tuple[dict[str, Any], list[int]]) -> float:
    job = part[0]
    blocks = [b"".join(block) for block in _read(part)]
    started = time.monotonic()
    with psycopg.connect(job["target"]) as connection, connection.cursor() as cursor:
        for block in blocks:
            with cursor.copy(f"COPY {job['table']} FROM STDIN (FORMAT binary)") as copy:
                copy.write(block)
    return time.monotonic() - started


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract, "load": load}[job["work"]](job)))
