"""A REST catalog: the server that Iceberg's own tests use, from its jars.

`TIDEGATE_TEST_REST_CATALOG` names a folder with these jars, as Maven resolves them: `iceberg-open-api:test-fixtures`,
`iceberg-core` and its `tests`, `jetty-server`, `jetty-ee10-servlet`, `jetty-compression-server` and `-gzip`,
`sqlite-jdbc`, `slf4j-simple`. Hadoop's come from pyspark. The server checks no credentials and listens on all
addresses, so it is for closed machines alone.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit import processes
from tidegate.spark.java import find_java

JARS = os.environ.get("TIDEGATE_TEST_REST_CATALOG", "")


@contextmanager
def rest_catalog(warehouse: Path, folder: Path) -> Iterator[str]:
    """Start the server over a warehouse; yield its address."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    of_spark = Path(pyspark.__file__).parent / "jars"
    names = ("hadoop-client-*.jar", "commons-logging*.jar", "slf4j-api*.jar")
    parts = [f"{JARS}/*", *(str(jar) for name in names for jar in of_spark.glob(name))]
    environment = {
        **os.environ,
        "CATALOG_URI": f"jdbc:sqlite:{folder / 'rest.db'}",
        "CATALOG_WAREHOUSE": f"file://{warehouse}",
        "REST_PORT": str(port),
        "CATALOG_REST_PORT": str(port),
    }
    with open(folder / "rest.log", "wb") as log:
        server = subprocess.Popen(
            [str(find_java() / "bin" / "java"), "-cp", ":".join(parts), "org.apache.iceberg.rest.RESTCatalogServer"],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        _wait(server, address, folder / "rest.log")
        yield address
    finally:
        processes.kill_session(server.pid)
        server.wait()


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    for _ in range(600):
        assert server.poll() is None, log.read_text()[-2000:]
        try:
            with urllib.request.urlopen(f"{address}/v1/config", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text()[-2000:])
