"""Object stores besides moto, where their programs are on this machine: versitygw (S3, checks signatures, keeps its
objects in a folder) and Azurite (Azure).

`TIDEGATE_TEST_VERSITYGW` and `TIDEGATE_TEST_AZURITE` name the programs `versitygw` and `azurite-blob`, where the PATH
does not have them. Both can be built without root: `go install github.com/versity/versitygw/cmd/versitygw@latest`,
`npm install azurite`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

_ACCOUNT = "devstoreaccount1"
# The key of every emulator of Azure: it is in the manual, and protects nothing.
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def program(name: str, variable: str) -> str:
    """Return the path of a program. Skips the test where there is none, or fails it where everything must be tested."""
    found = os.environ.get(variable) or shutil.which(name)
    if found is None:
        text = f"{name} is not on the PATH, and {variable} does not name it"
        pytest.fail(text) if os.environ.get("TIDEGATE_TEST_EVERYTHING") else pytest.skip(text)
    return found


@dataclass
class Store:
    """A running store: an address of a bucket, and the settings to reach it."""

    url: str
    options: dict[str, str] = field(repr=False)
    command: list[str] = field(repr=False)
    port: int
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            env={**os.environ, **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _wait(self.port, self.process)

    def kill(self) -> None:
        """End the store as a loss of power would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@contextmanager
def versitygw(folder: Path) -> Iterator[Store]:
    """Start versitygw with a bucket `lake` in this folder."""
    found, port = program("versitygw", "TIDEGATE_TEST_VERSITYGW"), _free_port()
    (folder / "lake").mkdir(parents=True)
    options = {
        "endpoint": f"http://127.0.0.1:{port}",
        "region": "us-east-1",
        "access_key_id": "key-of-tests",
        "secret_access_key": "secret-of-tests",
    }
    login = {"ROOT_ACCESS_KEY": options["access_key_id"], "ROOT_SECRET_KEY": options["secret_access_key"]}
    command = [found, "--quiet", "--port", f"127.0.0.1:{port}", "posix", str(folder)]
    with _running(Store("s3://lake", options, command, port, login)) as store:
        yield store


@contextmanager
def azurite(folder: Path) -> Iterator[Store]:
    """Start Azurite with a container `lake`."""
    found, port = program("azurite-blob", "TIDEGATE_TEST_AZURITE"), _free_port()
    endpoint = f"http://127.0.0.1:{port}/{_ACCOUNT}"
    command = [found, "--silent", "--skipApiVersionCheck", "--blobPort", str(port), "--location", str(folder)]
    options = {"endpoint": endpoint, "account_name": _ACCOUNT, "account_key": _KEY}
    with _running(Store(f"abfss://lake@{_ACCOUNT}.dfs.core.windows.net", options, command, port)) as store:
        _make_container(endpoint, "lake")
        yield store


@contextmanager
def _running(store: Store) -> Iterator[Store]:
    store.start()
    try:
        yield store
    finally:
        store.kill()


def _make_container(endpoint: str, name: str) -> None:
    now = f"{datetime.now(UTC):%a, %d %b %Y %H:%M:%S GMT}"
    headers = {"x-ms-date": now, "x-ms-version": "2021-08-06", "Content-Length": "0"}
    signed = (
        f"PUT{chr(10) * 12}x-ms-date:{now}\nx-ms-version:2021-08-06\n/{_ACCOUNT}/{_ACCOUNT}/{name}\nrestype:container"
    )
    digest = hmac.new(base64.b64decode(_KEY), signed.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(digest).decode()}"
    request = urllib.request.Request(f"{endpoint}/{name}?restype=container", method="PUT", headers=headers)
    urllib.request.urlopen(request, timeout=10).close()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError(f"the store ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the store did not start within 30 s")
