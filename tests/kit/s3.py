"""An S3 server of moto in a process of its own, for as long as the tests of a worker last."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class S3Server:
    """A running server. Any credentials are accepted."""

    endpoint: str
    process: subprocess.Popen[bytes]

    def make_bucket(self, name: str) -> str:
        """Create a bucket and return its address."""
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/{name}", method="PUT"), timeout=10).close()
        return f"s3://{name}"

    @property
    def options(self) -> dict[str, str]:
        return {
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "access_key_id": "key-of-tests",
            "secret_access_key": "secret-of-tests",
        }


@contextmanager
def s3_server(*arguments: str, scheme: str = "http") -> Iterator[S3Server]:
    """Start moto's server, with further arguments of its command."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(port, process)
        yield S3Server(f"{scheme}://127.0.0.1:{port}", process)
    finally:
        process.kill()
        process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError(f"moto ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("moto did not start within 30 s")
