"""A reader of a change feed as one writes it by hand: the last change of each key, by COPY and two statements."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlparse

import psycopg

KEY, COLUMNS = "id", ("id", "name", "price", "note")
Change = tuple[str, tuple[Any, ...]]


def of_postgresql(job: dict[str, Any]) -> Iterator[Change]:
    """Decode pgoutput: the letter of each message, and the texts of its row."""
    with psycopg.connect(job["source"]) as source, source.cursor(name="changes", binary=True) as cursor:
        cursor.itersize = 20_000
        cursor.execute(
            "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, NULL, NULL, 'proto_version', '1',"
            " 'publication_names', %s)",
            (job["slot"], job["publication"]),
        )
        for (data,) in cursor:
            letter = data[:1].decode("latin-1")
            if letter not in "IUD":
                continue
            values, at = _texts(data, 6)
            if letter == "U" and data[5:6] != b"N":  # the old key comes first
                yield "D", values
                values, _ = _texts(data, at + 1)
            yield letter, values


def _texts(data: bytes, at: int) -> tuple[tuple[str | None, ...], int]:
    (count,) = struct.unpack_from(">h", data, at)
    at += 2
    found: list[str | None] = []
    for _ in range(count):
        if data[at : at + 1] == b"n":
            found.append(None)
            at += 1
            continue
        (size,) = struct.unpack_from(">i", data, at + 1)
        found.append(data[at + 5 : at + 5 + size].decode())
        at += 5 + size
    return tuple(found), at


def of_mysql(job: dict[str, Any]) -> Iterator[Change]:
    from pymysqlreplication import BinLogStreamReader
    from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

    url = urlparse(job["source"])
    login = {"host": url.hostname, "port": url.port, "user": url.username or "", "passwd": url.password or ""}
    stream = BinLogStreamReader(
        connection_settings=login,
        server_id=4711,
        is_mariadb=True,
        log_file=job["file"],
        log_pos=job["offset"],
        resume_stream=True,
        only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
        only_schemas=[url.path.strip("/")],
    )
    for event in stream:
        for row in event.rows:
            if isinstance(event, DeleteRowsEvent):
                yield "D", tuple(row["values"].values())
            else:
                yield "I", tuple((row.get("after_values") or row["values"]).values())
    stream.close()


def apply(job: dict[str, Any]) -> dict[str, Any]:
    changes = {"postgresql": of_postgresql, "mysql": of_mysql}[job["database"]](job)
    last = {values[0]: (letter, values) for letter, values in changes}
    with psycopg.connect(job["target"]) as target, target.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE changed (LIKE items)")
        cursor.execute("CREATE TEMP TABLE gone (id int)")
        with cursor.copy("COPY changed FROM STDIN") as copy:
            for letter, values in last.values():
                if letter != "D":
                    copy.write_row(values)
        with cursor.copy("COPY gone FROM STDIN") as copy:
            for key, (letter, _) in last.items():
                if letter == "D":
                    copy.write_row((key,))
        cursor.execute("DELETE FROM items WHERE id IN (SELECT id FROM gone)")
        cursor.execute(
            "INSERT INTO items SELECT * FROM changed ON CONFLICT (id) DO UPDATE"
            " SET name = excluded.name, price = excluded.price, note = excluded.note"
        )
    return {"changes": len(last)}


if __name__ == "__main__":
    print(json.dumps(apply(json.loads(sys.argv[1]))))
