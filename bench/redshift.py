"""A table of MariaDB into the double of Redshift, by way of S3: the first run and its steps.

    PYTHONPATH=tests:. python -m bench.redshift --rows 1000000

The double is PostgreSQL behind a small server of the tests, and S3 is the server of the tests: what it takes is theirs
as well. So the figures tell where the time goes, and nothing about Redshift itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from kit.mariadb import MariaDb
from kit.redshift import RedshiftDouble
from kit.s3 import s3_server
from kit.sides import do
from tidegate.demo.embedded import EmbeddedPostgres

CREATE = (
    "CREATE TABLE orders (ID bigint PRIMARY KEY, amount decimal(12,2), note varchar(80), paid tinyint(1),"
    " update_at datetime(6), KEY (update_at))"
)
FILL = (
    "INSERT INTO orders SELECT seq, seq / 4, concat('note ', seq), seq % 2,"
    " '2024-01-01' + INTERVAL seq SECOND FROM seq_1_to_{rows}"
)
TABLE = {"kind": "incremental", "timestamp_column": "update_at", "id_column": "ID"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--engine", default="process", help="`process`, or `spark` for the default")
    parser.add_argument("--prefix", default="", help="a command that starts the timed part")
    given = parser.parse_args()
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        target = opened.enter_context(EmbeddedPostgres(durable=False))
        source = opened.enter_context(MariaDb()).create_database("shop")
        s3 = opened.enter_context(s3_server())
        s3.make_bucket("bench")
        double = opened.enter_context(RedshiftDouble(target.create_database("dwh"), s3.options))
        do(source, CREATE)
        do(source, FILL.format(rows=given.rows))
        lake = {"path": "s3://bench/lake", "store": s3.options}
        places: dict[str, Any] = {"source": source, "target": double.url, "lake": lake}
        if given.engine == "process":
            places["engine"] = "process"
        (folder / "tidegate.yml").write_text(yaml.safe_dump({**places, "tables": {"orders": TABLE}}))
        command = [str(Path(sys.executable).parent / "tidegate"), "run", "--json", "-c", str(folder / "tidegate.yml")]
        started = time.monotonic()
        done = subprocess.run([*given.prefix.split(), *command], stdout=subprocess.PIPE, text=True)
        _show(json.loads(done.stdout), time.monotonic() - started, given.rows, double)


def _show(report: dict[str, Any], seconds: float, rows: int, double: RedshiftDouble) -> None:
    sys.stdout.write(f"{rows:,} rows, exit {report['exit_code']}, {report['seconds']:.1f} s of {seconds:.1f} s\n")
    for step in report["steps"]:
        cpu, peak = step["cpu_seconds"], step["memory"] / 2**20
        line = f"  {step['step']:8} {step['rows']:>9,} rows {step['seconds']:6.1f} s, {cpu:.1f} s of processor"
        sys.stdout.write(f"{line}, {step['bytes'] / 2**20:.1f} MiB, peak {peak:,.0f} MiB\n")
    sys.stdout.write(f"  COPY read {len(double.copied)} files\n")


if __name__ == "__main__":
    main()
