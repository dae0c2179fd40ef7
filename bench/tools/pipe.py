"""A pipe, as one types it: MariaDB's own client prints a table, and COPY reads it. No lake, no ledger, no proof."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import psycopg

_BLOCK = 1 << 20


def across(job: dict[str, Any]) -> dict[str, Any]:
    at = job["login"]
    command = [
        *job["client"].split(),
        "--no-defaults",
        f"--host={at['host']}",
        f"--port={at['port']}",
        f"--user={at['user']}",
        "--batch",
        "--quick",
        "--skip-column-names",
        "--default-character-set=utf8mb4",
        f"--execute=SELECT * FROM {job['table']}",
        at["database"],
    ]
    secret = {**os.environ, "MYSQL_PWD": at["password"]}
    with psycopg.connect(job["target"]) as target, target.cursor() as cursor:
        printed = subprocess.Popen(command, stdout=subprocess.PIPE, env=secret)
        assert printed.stdout is not None
        with cursor.copy(f"COPY {job['table']} FROM STDIN (NULL 'NULL')") as copy:
            while block := printed.stdout.read(_BLOCK):
                copy.write(block)
        if printed.wait():
            raise SystemExit("the client failed")
    return {}


if __name__ == "__main__":
    print(json.dumps(across(json.loads(sys.argv[1]))))
