"""A standalone cluster of Spark: a master and workers, each a process with a home and folders of its own.

Nothing is shared among them but the network: a worker does not know the folder of another, nor the driver's.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kit import processes
from kit.processes import wait_until
from tidegate.spark.java import find_java


@dataclass
class StandaloneCluster:
    """A running cluster. Each worker has one core."""

    folder: Path
    port: int
    master: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker, and wait until the master knows it."""
        number = 1 + len(list(self.folder.glob("worker-*")))
        worker = _started(
            self.folder / f"worker-{number}",
            "org.apache.spark.deploy.worker.Worker",
            *("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"),
            *("--work-dir", str(self.folder / f"worker-{number}" / "work"), self.address),
        )
        self.workers.append(worker)
        log = self.folder / f"worker-{number}" / "log"
        wait_until(lambda: "Successfully registered with master" in log.read_text(), f"worker {number} is there", 120)
        return worker

    def executors(self) -> list[int]:
        """Return the processes of all executors."""
        return [
            pid
            for worker in self.workers
            for pid in processes.of_session(worker.pid)
            if "CoarseGrainedExecutorBackend" in processes.command_line(pid)
        ]

    def stop(self) -> None:
        for process in (*self.workers, self.master):
            processes.kill_session(process.pid)
            process.wait()


@contextmanager
def standalone_cluster(folder: Path, workers: int = 3) -> Iterator[StandaloneCluster]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = _started(
        folder / "master",
        "org.apache.spark.deploy.master.Master",
        *("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"),
    )
    cluster = StandaloneCluster(folder, port, master)
    try:
        log = folder / "master" / "log"
        wait_until(lambda: "I have been elected leader" in log.read_text(), "the master is there", 120)
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.stop()
        for place in folder.glob("worker-*/work"):
            shutil.rmtree(place, ignore_errors=True)


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def _started(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a class of Spark as a process with folders of its own, in a session of its own."""
    for place in ("home", "tmp", "local"):
        (folder / place).mkdir(parents=True)
    environment = {
        "PATH": os.environ["PATH"],
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "PYSPARK_PYTHON": sys.executable,
    }
    with open(folder / "log", "wb") as log:
        return subprocess.Popen(
            [str(spark_home() / "bin" / "spark-class"), name, *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
