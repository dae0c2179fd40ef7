"""A private PostgreSQL server from a wheel, for the demo and the tests: no installation, no Docker, no root needed.

It listens only on a free port of 127.0.0.1, with a password. All its files are in one folder:

    owner      has the process id of the owner, which locks this file; the kernel unlocks it when the owner ends
    password   of the role `tidegate`, a superuser
    port       the last port, which is used again when it is free, so that URLs stay valid
    data/      the cluster; its log is data/server.log
    wheel/     a copy of the programs, only where root started it from a folder that other accounts cannot enter
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import psycopg
from psycopg import sql

from tidegate.demo.binaries import programs, server_account
from tidegate.demo.ownership import abandoned, lock_folder, require_ours, temporary_folder
from tidegate.errors import TidegateError

_ROLE = "tidegate"
_START_SECONDS = 60
_INITDB = ["--encoding=UTF8", "--locale=C", f"--username={_ROLE}", "--auth=scram-sha-256", "--no-instructions"]
_SERVER = "-h 127.0.0.1 -k '' -c timezone=UTC -c log_timezone=UTC -c wal_level=logical"
# Commits wait for the write of the log, but not for the disk: a killed server loses nothing, a power cut may.
_NOT_DURABLE = "-c fsync=off -c full_page_writes=off"


class EmbeddedPostgres:
    """One server. Use it in a `with` block, or call `start` and `close`.

    Args:
        data: the folder to keep between starts. None: a temporary folder that is removed with the server.
        durable: False is faster, and may lose commits in a power cut. `kill` still loses nothing.
        outlives: leave the server running when this process ends. Needs `data`.
        installed: the folder with the programs of another PostgreSQL, used instead of the wheel.

    A server that already runs on `data` is used, and keeps running for its owner. A temporary server whose owner was
    killed is removed when the same user starts the next one.
    """

    def __init__(
        self,
        major: int = 18,
        data: Path | None = None,
        durable: bool = True,
        outlives: bool = False,
        installed: Path | None = None,
    ) -> None:
        if outlives and data is None:
            raise ValueError("a server that outlives its process needs a folder: give `data`")
        self._major, self._kept, self._durable, self._outlives = major, data, durable, outlives
        self._installed = installed
        self._account = server_account()
        self._folder: Path | None = None
        self._owner: int | None = None
        self._process = os.getpid()
        self._port = 0

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the server and wait until it accepts connections. Does nothing when it runs already."""
        if self._folder is None:
            self._folder = self._create_folder()
            self._owner = lock_folder(self._folder)
            atexit.register(self.close)
            self._account.require_access(self._folder)
            self._bin_dir = self._installed or programs(self._major, self._account, self._folder)
        if self._owner is None:
            self._await_other_owner()
        elif not self._is_running():
            self._initialise()
            self._launch()

    def stop(self) -> None:
        """Stop the server and end its connections. The data stay for the next `start`."""
        self._control("stop", "-m", "fast")

    def kill(self) -> None:
        """Stop the server as in a crash: the next start recovers from the log."""
        self._control("stop", "-m", "immediate")

    def restart(self) -> None:
        """Stop and start on the same port: URLs stay valid, connections end."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop a server that this process owns, and remove its temporary folder. A second call does nothing."""
        if self._folder is None or os.getpid() != self._process:  # a forked child must not stop its parent's server
            return
        atexit.unregister(self.close)
        if self._owner is not None:
            if not self._outlives:
                self.stop()
            if self._kept is None:
                shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._owner)
        self._folder, self._owner = None, None

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database, with user and password."""
        return f"postgresql://{_ROLE}:{self._password()}@127.0.0.1:{self._port}/{quote(database, safe='')}"

    def create_database(self, name: str) -> str:
        """Create an empty database. Return its URL."""
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database if it exists, and end its connections."""
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    @property
    def bin_dir(self) -> Path:
        """The folder of `psql`, `pg_dump` and the other programs of this version. Known after `start`."""
        return self._bin_dir

    @property
    def folder(self) -> Path:
        if self._folder is None:
            raise TidegateError("The embedded PostgreSQL was not started.", "", "Call `start`, or use a `with` block.")
        return self._folder

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _create_folder(self) -> Path:
        """Return the folder of the server, created if needed."""
        if self._kept is None:
            self._remove_abandoned()
            folder = temporary_folder()
        else:
            folder = self._kept.absolute()
            if folder.exists():
                return require_ours(folder)
            folder.mkdir(mode=0o700, parents=True)
        if os.geteuid() == 0:
            # Another account runs the server: it may pass through the folder, and not list it.
            folder.chmod(0o711)
        return folder

    def _await_other_owner(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_running():
            if time.monotonic() > deadline:
                raise TidegateError(
                    f"Another process has locked {self.folder}, and its server does not answer.",
                    "Nothing was changed there.",
                    f"End process {(self.folder / 'owner').read_text().strip()}, or choose another folder.",
                )
            time.sleep(0.1)

    def _initialise(self) -> None:
        if self._data.is_dir():
            return
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(secrets.token_urlsafe(18))
        self._account.own(password)
        draft = (
            self.folder / "data.new"
        )  # renamed when complete: a killed process must not leave half a cluster as `data`
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        self._account.own(draft)
        sync = [] if self._durable else ["--no-sync"]
        self._run("initdb", *_INITDB, *sync, f"--pwfile={password}", "-D", str(draft))
        draft.rename(self._data)

    def _launch(self) -> None:
        port_file = self.folder / "port"
        wanted = int(port_file.read_text()) if port_file.is_file() else 0
        self._port = _free_port(wanted) or _free_port(0)
        port_file.write_text(str(self._port))
        options = f"-p {self._port} {_SERVER} {'' if self._durable else _NOT_DURABLE}"
        log = self._data / "server.log"
        self._run(
            "pg_ctl", "start", "-w", "-t", str(_START_SECONDS), "-D", str(self._data), "-l", str(log), "-o", options
        )

    def _control(self, *arguments: str) -> None:
        if self._is_running():
            self._run("pg_ctl", *arguments, "-w", "-t", str(_START_SECONDS), "-D", str(self._data))

    def _run(self, program: str, *arguments: str) -> None:
        done = self._account.run([self._bin_dir / program, *arguments], self.folder)
        if done.returncode != 0:
            log = self._data / "server.log"
            output = (log.read_text(errors="replace") if log.is_file() else "") + done.stderr
            last = " / ".join(output.strip().splitlines()[-3:])
            raise TidegateError(
                f"The embedded PostgreSQL ended `{program} {arguments[0]}` with an error: {last}",
                "No database other than the embedded one was touched.",
                f"Its log is {log}.",
            )

    def _is_running(self) -> bool:
        """Return whether the server of this folder answers."""
        # The process id in postmaster.pid may belong to another process by now, so the server itself is asked.
        lines = _lines(self._data / "postmaster.pid")
        if len(lines) < 4:
            return False
        self._port = int(lines[3])
        try:
            with psycopg.connect(self.url(), connect_timeout=5) as connection:
                answer = connection.execute("SELECT current_setting('data_directory')").fetchone()
        except psycopg.Error:
            return False
        return answer is not None and Path(answer[0]).resolve() == self._data.resolve()

    def _password(self) -> str:
        return (self.folder / "password").read_text()

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)

    def _remove_abandoned(self) -> None:
        """Stop and remove temporary servers of this user whose owner was killed."""
        for folder, owner in abandoned():
            stale = EmbeddedPostgres(self._major)
            stale._folder, stale._owner = folder, owner
            stale._bin_dir = programs(self._major, self._account, folder)
            stale.close()


def _free_port(wanted: int) -> int:
    """Return `wanted` if the port is free, any free port if `wanted` is 0; else 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
        return int(probe.getsockname()[1])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
