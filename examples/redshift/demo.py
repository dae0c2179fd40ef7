"""Watch `tidegate sync`: MariaDB, then files in an S3 bucket, then Redshift. Or rather a double of Redshift.

    make demo-s3

It needs no cloud. The bucket is that of a small S3 server, and Redshift is a double: PostgreSQL behind a server that
speaks Redshift's protocol, reads the files of COPY from the bucket, and refuses what Redshift refuses. docs/proved.md
says what that shows. Where no MariaDB can be had, the source is PostgreSQL, and the demo says so.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import yaml

from kit.mariadb import MariaDb, NoMariaDb
from kit.mysql_witness import opened
from kit.redshift import RedshiftDouble
from kit.s3 import s3_server
from tidegate.demo.embedded import EmbeddedPostgres

HERE = Path(__file__).parent
SYNC = ("--source-db", "sales_db", "--target-schema", "reporting_sales", "--tables", "customers", "-t", "orders")
SETUP = (
    "CREATE TABLE customers (customer_id int PRIMARY KEY, name varchar(40), tier varchar(10))",
    "CREATE TABLE orders (order_id int PRIMARY KEY, customer_id int, amount decimal(9,2), update_at timestamp(6) NULL)",
    "CREATE INDEX orders_update_at ON orders (update_at)",
)
CHANGES = (
    "UPDATE customers SET tier = 'gold' WHERE customer_id < 6",
    "UPDATE customers SET tier = NULL WHERE customer_id = 6",
    "DELETE FROM customers WHERE customer_id = 7",
    "UPDATE orders SET amount = 99.99, update_at = '2024-01-02 08:00:00' WHERE order_id < 51",
)
VERSIONS = (
    "SELECT customer_sk, customer_id, tier, is_current, end_date IS NULL FROM reporting_sales.customers"
    " WHERE customer_id IN (5, 6, 7) ORDER BY customer_id, start_date"
)


def main() -> int:
    arguments = argparse.ArgumentParser(description="Watch a sync from MariaDB through S3 into a double of Redshift.")
    arguments.add_argument("--engine", choices=["spark", "process"], help="What moves the rows.")
    engine = arguments.parse_args().engine
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-demo-")))
        server = stack.enter_context(EmbeddedPostgres(durable=False))
        source, do = stack.enter_context(source_of(server))
        s3 = stack.enter_context(s3_server())
        bucket = s3.make_bucket("tidegate-demo")
        double = stack.enter_context(RedshiftDouble(server.create_database("warehouse"), s3.options))
        say("   lake: a bucket of a small S3 server; target: a DOUBLE of Redshift, not Redshift (docs/proved.md)")
        lake = {"path": f"{bucket}/lake", "store": s3.options}
        settings = {"source": source, "target": double.url, "lake": lake, "tables": {}}
        (folder / "tidegate.yml").write_text(yaml.safe_dump(settings))
        return show(folder, double, do, ["--engine", engine] if engine else [])


@contextmanager
def source_of(server: EmbeddedPostgres) -> Iterator[tuple[str, Callable[[str], None]]]:
    """Yield the URL of the source and what runs a statement there."""
    try:
        mariadb = MariaDb().__enter__()
    except NoMariaDb as absence:
        url = server.create_database("sales_db")
        say(f"   source: PostgreSQL, since no MariaDB can be had here: {absence}")
        with psycopg.connect(url, autocommit=True) as connection:
            yield url, connection.execute  # type: ignore[misc]
        return
    try:
        mariadb.create_database("sales_db")
        say("   source: MariaDB")
        with closing(opened(mariadb.url("sales_db"))) as link:
            yield mariadb.url(), lambda statement: commit(link, statement)
    finally:
        mariadb.close()


def commit(link: pymysql.Connection[Any], statement: str) -> None:
    with link.cursor() as cursor:
        cursor.execute(statement)
    link.commit()


def show(folder: Path, double: RedshiftDouble, do: Callable[[str], None], words: list[str]) -> int:
    say("1. A database with 100 customers and 1,000 orders; conf/tables.yml says how each table is synced")
    for statement in SETUP:
        do(statement)
    customers = ", ".join(f"({number}, 'Customer {number}', 'silver')" for number in range(1, 101))
    orders = ", ".join(
        f"({number}, {number % 100 + 1}, {number}.25, '2024-01-01 10:00:00.123456')" for number in range(1, 1001)
    )
    do(f"INSERT INTO customers VALUES {customers}")  # noqa: S608
    do(f"INSERT INTO orders VALUES {orders}")  # noqa: S608
    (folder / "conf").mkdir()
    text = (HERE / "tables.yml").read_text()
    (folder / "conf" / "tables.yml").write_text(text)
    say("\n".join(f"   {line}" for line in text.splitlines()))
    codes = []
    for number, title in enumerate(("the plan", "the first sync", "nothing has changed since"), 2):
        say(f"{number}. tidegate sync {' '.join(SYNC)}: {title}")
        codes.append(sync(folder, *words, *(["--dry-run"] if number == 2 else [])))
    copied = [url for url in double.copied if "/incremental/" in url]
    say(f"   COPY read {len(copied)} files of the lake itself, such as {copied[0]}")
    say("5. Customers get other tiers, one leaves; orders change")
    for statement in CHANGES:
        do(statement)
    codes.append(sync(folder, *words))
    say("6. What the target has: each state of a customer is a row, numbered by the server")
    with psycopg.connect(double.backend) as connection:
        found = connection.execute(VERSIONS).fetchall()
        total = connection.execute("SELECT count(*), sum(amount) FROM reporting_sales.orders").fetchone()
    for row in found:
        say("   " + ", ".join(map(str, row)))
    say(f"   orders: {total}")
    good = codes == [0, 0, 0, 0] and len(found) == 5 and total is not None and total[0] == 1000
    say("Done: every row was read back from the target and compared." if good else "This did not go as it should.")
    return 0 if good else 1


def sync(folder: Path, *words: str) -> int:
    command = [sys.executable, "-m", "tidegate.cli.main", "sync", *SYNC, "--quiet", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    say("\n".join(f"   {line}" for line in (done.stdout + done.stderr).strip().splitlines()))
    return done.returncode


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
