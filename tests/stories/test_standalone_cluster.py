"""A cluster without a common disk: three workers, the lake in a bucket, and processes that are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from kit import processes, sides
from kit.mariadb import MariaDb
from kit.processes import wait_until
from kit.project import FIVE_DAYS, Story, assert_same_rows, child, database_on
from kit.s3 import S3Server, s3_server
from kit.sides import ask
from kit.standalone import StandaloneCluster, spark_home, standalone_cluster
from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.mysql,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc"),
]

WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'tidegate load %' AND wait_event_type = 'Lock'
"""
OTHER_TABLES = """
CREATE TABLE currencies (code varchar(3) PRIMARY KEY, rate numeric(20,10));
INSERT INTO currencies VALUES ('CHF', 0.9431), ('EUR', 1), ('XXX', NULL);
CREATE TABLE customers (id integer PRIMARY KEY, name varchar(40), changed_at timestamp NOT NULL);
INSERT INTO customers
SELECT n, 'name ' || n, timestamp '2024-01-01' + n * interval '1 hour' FROM generate_series(1, 50) AS n;
CREATE TABLE orders (id bigint PRIMARY KEY, amount numeric(12,2), updated_at timestamp);
INSERT INTO orders SELECT n, n, timestamp '2024-01-01' + n * interval '1 second' FROM generate_series(1, 3000) AS n
"""
CHANGES = """
UPDATE customers SET name = 'moved', changed_at = '2025-01-01' WHERE id = 7;
DELETE FROM currencies WHERE code = 'XXX';
UPDATE orders SET amount = -1, updated_at = '2025-01-01' WHERE id % 100 = 0
"""
TABLES: dict[str, Any] = {
    "trades": {"kind": "partition", "partition_column": "cob"},
    "currencies": {"kind": "static", "allow_deletes": True},
    "customers": {
        "kind": "scd2",
        "history": "generate",
        "business_keys": ["id"],
        "cursor_column": "changed_at",
        "initial_load": "full",
    },
    "orders": {"kind": "incremental", "changes": "timestamp", "timestamp_column": "updated_at", "split_rows": 1000},
}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        started.make_bucket("cluster")
        yield started


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


class Driver:
    """Commands of a driver in a folder of its own, with Spark on the cluster."""

    def __init__(self, folder: Path, configuration: dict[str, Any]) -> None:
        self.folder = folder
        (folder / "tidegate.yml").write_text(yaml.safe_dump(configuration))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {"TMPDIR": str(self.folder), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        return child("-m", "tidegate.cli.main", *arguments, cwd=self.folder, environment=environment)

    def run(self, *arguments: str) -> dict[str, Any]:
        with self.start(*arguments, "--json") as command:
            output, errors = command.communicate(timeout=300)
        assert command.returncode == 0, errors + output
        report: dict[str, Any] = json.loads(output)
        return report


@pytest.fixture
def on_cluster(story: Story, cluster: StandaloneCluster, server: S3Server, tmp_path: Path) -> Callable[..., Driver]:
    def make(target: str = "", **tables: Any) -> Driver:
        configuration = {
            "source": story.source,
            "target": target or story.target,
            "lake": {"path": f"s3://cluster/{tmp_path.name}", "store": server.options},
            "spark": {"master": cluster.address, "options": {"spark.executor.memory": "512m"}},
            "tables": tables or {"trades": TABLES["trades"]},
        }
        return Driver(tmp_path, configuration)

    return make


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_every_kind_of_table(
    story: Story, on_cluster: Callable[..., Driver], postgres: EmbeddedPostgres, mariadb: MariaDb, kind: str
):
    """A first run, changes, a second run and a verification, into PostgreSQL and MariaDB."""
    sides.do(story.source, OTHER_TABLES)
    with ExitStack() as opened:
        target = opened.enter_context(database_on({"postgresql": postgres, "mysql": mariadb}[kind]))
        driver = on_cluster(target, **TABLES)
        report = driver.run("run")
        assert report["outcome"] == "done" and report["engine"].startswith("spark://")
        story.in_source(CHANGES)
        assert driver.run("run")["outcome"] == "done"
        assert driver.run("verify")["outcome"] == "equal"
        assert_same_rows(sides.rows_of(target, FIVE_DAYS), story.rows_in_source(*FIVE_DAYS))
        for query in ("SELECT id, amount FROM orders ORDER BY id", "SELECT code, rate FROM currencies ORDER BY code"):
            assert ask(target, query) == ask(story.source, query)
        assert ask(target, "SELECT count(*) FROM customers") == [(51,)]
    assert not list(driver.folder.rglob("*.parquet")), "no row came to a disk of the driver"


@pytest.mark.parametrize("victim", ["executor", "worker", "driver"])
def test_killed_processes_cost_no_row(
    story: Story, cluster: StandaloneCluster, on_cluster: Callable[..., Driver], victim: str
):
    """A lock stops all loads. A process is killed there; the run, or the next one, loads each day once."""
    driver = on_cluster()
    with closing(psycopg.connect(story.target)) as holder:
        sides.create(story.target)
        holder.execute("LOCK TABLE trades IN SHARE MODE")
        run = driver.start("run", "--json")
        try:
            wait_until(lambda: run.poll() is not None or ask(story.target, WAITING)[0][0] >= 2, "tasks load", 240)
            assert run.poll() is None, run.communicate()
            if victim == "driver":
                processes.kill_session(run.pid)
            elif victim == "executor":
                processes.kill(cluster.executors()[0])
            else:
                worker = cluster.workers.pop(0)
                processes.kill_session(worker.pid)
                worker.wait()
            holder.rollback()
            output, errors = run.communicate(timeout=240)
        finally:
            processes.kill_session(run.pid)
            if victim == "worker":
                cluster.add_worker()
    if victim != "driver":
        assert run.returncode == 0, errors + output
    driver.run("run")
    assert driver.run("verify")["outcome"] == "equal"
    assert_same_rows(story.rows_in_target(), story.rows_in_source(*FIVE_DAYS))
    assert {day: generation for day, (generation, _, _) in story.ledger().items()} == dict.fromkeys(FIVE_DAYS, 1)


def test_spark_submit_of_a_run(story: Story, cluster: StandaloneCluster, on_cluster: Callable[..., Driver]):
    """The submitted master stands; the configuration names none."""
    driver = on_cluster()
    configuration = yaml.safe_load((driver.folder / "tidegate.yml").read_text())
    del configuration["spark"]
    (driver.folder / "tidegate.yml").write_text(yaml.safe_dump(configuration))
    script = driver.folder / "run.py"
    script.write_text('from tidegate.cli.main import main\n\nmain(["run", "--json"])\n')
    environment = {
        **os.environ,
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    submit = [str(spark_home() / "bin" / "spark-submit"), "--master", cluster.address, "--executor-memory", "512m"]
    found = subprocess.run(
        [*submit, str(script)], cwd=driver.folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr[-3000:]
    report = json.loads(found.stdout[found.stdout.index("{") :])
    assert report["outcome"] == "done"
    assert_same_rows(story.rows_in_target(), story.rows_in_source(*FIVE_DAYS))
