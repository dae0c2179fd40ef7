"""TLS to MySQL and MariaDB: each mode against a server whose certificate authority is unknown."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.mariadb import MariaDb
from tidegate.config.urls import parse_connection
from tidegate.errors import Unreachable
from tidegate.plugins import database
from tidegate.sql.text import sql

pytestmark = [
    pytest.mark.mysql,
    pytest.mark.skipif(
        shutil.which("openssl") is None and not os.environ.get("TIDEGATE_TEST_EVERYTHING"),
        reason="there is no openssl to make certificates with",
    ),
]


def certificates(folder: Path) -> None:
    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "rsa:2048", "-nodes", "-days", "2")
    openssl("req", "-x509", *key, "-subj", "/CN=authority", "-keyout", "authority.key", "-out", "authority.pem")
    openssl("req", *key, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=DNS:localhost")
    signed = ("-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl("x509", "-req", "-in", "server.csr", *signed, "-out", "server.pem")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("certificates")
    certificates(made)
    return made


@pytest.fixture(scope="module")
def encrypted(folder: Path, mariadb: MariaDb) -> Iterator[str]:
    files = {"ssl-ca": "authority.pem", "ssl-cert": "server.pem", "ssl-key": "server.key"}
    with MariaDb(*(f"--{name}={folder / file}" for name, file in files.items())) as server, server.database() as url:
        yield url


def cipher(url: str) -> str:
    with database(parse_connection(url)).connect("test") as session:
        return str(session.query(sql("SHOW STATUS LIKE 'Ssl_cipher'"))[0][1])


@pytest.mark.parametrize(
    ("options", "is_encrypted"),
    [
        ("", True),
        ("?ssl_mode=disabled", False),
        ("?ssl_mode=required", True),
        ("?ssl_mode=verify_ca&ssl_ca={authority}", True),
    ],
)
def test_supported_tls_modes_connect(encrypted: str, folder: Path, options: str, is_encrypted: bool):
    """Each `ssl_mode` that the server satisfies connects, encrypted or not as the mode asks."""
    assert bool(cipher(encrypted + options.format(authority=folder / "authority.pem"))) is is_encrypted


def test_host_name_is_verified(encrypted: str, folder: Path):
    """The certificate is for `localhost`, not for its address, so `verify_identity` refuses the address."""
    with pytest.raises(Unreachable, match=r"(?i)certificate|hostname|address"):
        cipher(f"{encrypted}?ssl_mode=verify_identity&ssl_ca={folder / 'authority.pem'}")


@pytest.mark.parametrize("mode", ["verify_ca", "verify_identity"])
def test_unknown_authority_is_refused(encrypted: str, mode: str):
    """Without `ssl_ca`, an unknown authority is refused and the remedy names the setting."""
    with pytest.raises(Unreachable) as told:
        cipher(f"{encrypted}?ssl_mode={mode}")
    assert "ssl_ca" in told.value.remedy


def test_server_without_tls_is_refused(mariadb: MariaDb):
    """When `ssl_mode=required` and the server has no TLS, the connection is refused."""
    with mariadb.database() as url, pytest.raises(Unreachable) as told:
        cipher(f"{url}?ssl_mode=required")
    assert "ssl_mode" in told.value.remedy
