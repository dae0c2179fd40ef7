"""A private MariaDB server for the tests, like `EmbeddedPostgres`: no Docker, no root, no manual step.

Facts that shape this file
 * No wheel contains a server. Every release of Debian and Ubuntu has a package.
 * SQL files of the package create the system tables. `mariadb-install-db` only feeds them to the server, and needs
   programs of another package.
 * The server refuses to run as root without `--user=root`.
 * A killed process cannot clean up. A guard process between it and the server does, when its standard input ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import pymysql
from pymysql.constants import ER

from kit.mysql_witness import opened, quoted
from kit.packages import NoPackage, last_lines, libraries, unpacked

_USER = "tidegate"
_START_SECONDS = 60
_PORTS_TO_TRY = 5
_PORT_TAKEN = "Bind on TCP/IP port"
_PACKAGE = "mariadb-server-core"
_SHARED = ("share/mysql", "share/mariadb", "share")
_OWN_TABLES = ("m*_system_tables.sql", "m*_performance_tables.sql", "m*_sys_schema.sql")
_SERVER = (
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--socket=server.sock",  # relative: a whole path may be too long for a socket
    "--character-set-server=utf8mb4",
    "--skip-log-bin",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=32M",
    # A commit writes the log but does not sync the disk: a killed server loses nothing.
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-use-native-aio=0",  # containers often forbid it
    "--innodb-buffer-pool-dump-at-shutdown=0",
    "--innodb-buffer-pool-load-at-startup=0",
)
# One statement per line. Only this user can log in: there is no root user.
_ACCOUNT = """\
CREATE OR REPLACE USER tidegate@'127.0.0.1' IDENTIFIED BY '{}';
GRANT ALL ON *.* TO tidegate@'127.0.0.1' WITH GRANT OPTION;
"""
_CREATE = "CREATE DATABASE {} {}"
_DROP = "DROP DATABASE IF EXISTS {}"
_CONNECTED = "SELECT id FROM information_schema.processlist WHERE db = %s"

# Creates the system tables at the first start, and becomes the server.
_SERVE = """
if [ -e "$0" ]; then "$@" --bootstrap < "$0" && rm "$0" || exit 1; fi
exec "$@"
"""
# Starts the server, prints its process number, and waits for one word. No word means that the test process has ended,
# which may happen at any time, also before it has read the number.
_GUARD = """
import contextlib, os, shutil, signal, subprocess, sys, threading

folder, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True)
word = ""

def send(which):
    if server.poll() is None:
        os.killpg(server.pid, which)

def obey():
    global word
    word = os.read(0, 16).decode() or "close"
    send(signal.SIGTERM if word == "stop" else signal.SIGKILL)

signal.signal(signal.SIGTERM, lambda *_: send(signal.SIGKILL))
with contextlib.suppress(OSError):
    os.write(1, b"%d\\n" % server.pid)
threading.Thread(target=obey, daemon=True).start()
server.wait()
if word == "close":
    shutil.rmtree(folder, ignore_errors=True)
"""


class NoMariaDb(Exception):
    """No server is available. The text is one sentence: the reason and the remedy."""

    def __init__(self, why: object) -> None:
        super().__init__(
            f"There is no MariaDB server here and none could be fetched ({why}): "
            f"run `apt-get install {_PACKAGE}`, or set TIDEGATE_TEST_MYSQL to the URL of a server."
        )


@dataclass(frozen=True)
class Programs:
    """An installed server, or an unpacked one with libraries that the machine lacks."""

    server: Path
    libraries: tuple[Path, ...] = ()

    @property
    def base(self) -> Path:
        return self.server.parents[1]

    @property
    def environment(self) -> dict[str, str]:
        folders = [*map(str, self.libraries), os.environ.get("LD_LIBRARY_PATH", "")]
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, folders))}

    @property
    def own_tables(self) -> bytes:
        """Return the statements that create the system tables."""
        shared = [self.base / folder for folder in _SHARED]
        files = [path for pattern in _OWN_TABLES for folder in shared for path in folder.glob(pattern)]
        return b"\n".join([b"CREATE DATABASE mysql;", b"USE mysql;", *(path.read_bytes() for path in files), b""])

    def usable(self) -> bool:
        """Return whether it starts and is MariaDB: `mysqld` may be MySQL, which has other options."""
        command = [str(self.server), "--no-defaults", "--version"]
        try:
            answer = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        except OSError:
            return False
        return answer.returncode == 0 and "MariaDB" in answer.stdout


class MariaDb:
    """A server with its own temporary folder. Use it in a `with` block, or call `start` and `close`.

    Args:
        options: more options of `mariadbd`, such as `--lower-case-table-names=1`.
        programs: None finds or downloads them. Raises NoMariaDb.

    The server ends with the block, with the interpreter, and when this process is killed.
    """

    def __init__(self, *options: str, programs: Programs | None = None) -> None:
        self._options, self._programs = options, programs
        self._folder: Path | None = None
        self._guard: subprocess.Popen[str] | None = None
        self._process = os.getpid()
        self._password = secrets.token_urlsafe(18)
        self._port = self._pid = 0

    def __enter__(self) -> MariaDb:
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
        """Start the server and wait until it accepts connections. Does nothing if it runs."""
        if self._folder is None:
            self._programs = self._programs or find()
            self._folder = Path(tempfile.mkdtemp(prefix="tidegate-mariadb-"))
            atexit.register(self.close)
            (self.folder / "data").mkdir(mode=0o700)
            (self.folder / "account.sql").write_text(_ACCOUNT.format(self._password))
            (self.folder / "tables.sql").write_bytes(self._programs.own_tables)
        if self._guard is None or self._guard.poll() is not None:
            self._launch()

    def stop(self) -> None:
        """Stop the server cleanly. The data stay, and `start` uses them on the same port."""
        self._tell("stop")

    def kill(self) -> None:
        """Kill the server as in a crash. The next start recovers from the log."""
        self._tell("kill")

    def restart(self) -> None:
        """Stop and start on the same port: URLs stay valid, connections do not."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End the server and delete its data. Closing twice does nothing."""
        if self._folder is None or os.getpid() != self._process:  # a forked child must not end its parent's server
            return
        atexit.unregister(self.close)
        self._tell("close")
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    def url(self, database: str = "") -> str:
        return f"mysql://{_USER}:{self._password}@127.0.0.1:{self._port}/{quote(database, safe='')}"

    def create_database(self, name: str, options: str = "") -> str:
        """Create an empty database and return its URL. `options`, such as a character set, follow its name."""
        with self._connection() as connection, connection.cursor() as cursor:
            cursor.execute(_CREATE.format(quoted(name), options))
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, even if sessions are connected or if it does not exist."""
        with self._connection() as connection, connection.cursor() as cursor:
            # An open transaction would block the drop until it ends.
            cursor.execute(_CONNECTED, (name,))
            for (number,) in cursor.fetchall():
                _end_connection(cursor, number)
            cursor.execute(_DROP.format(quoted(name)))

    @contextlib.contextmanager
    def database(self, options: str = "") -> Iterator[str]:
        """Yield the URL of a new database. It is dropped at the end, even if sessions are connected."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        try:
            yield self.create_database(name, options)
        finally:
            self.drop_database(name)

    @property
    def folder(self) -> Path:
        """The folder with data, log and password, closed to other users. Known after `start`."""
        assert self._folder is not None, "the server was not started"
        return self._folder

    @property
    def pid(self) -> int:
        """The process number of the server. Known after `start`."""
        return self._pid

    @property
    def _log(self) -> Path:
        return self.folder / "server.log"

    def _connection(self) -> pymysql.Connection:
        return opened(self.url(), connect_timeout=5, read_timeout=_START_SECONDS)

    def _command(self) -> list[str]:
        assert self._programs is not None
        ours = [str(self._programs.server), "--no-defaults", f"--basedir={self._programs.base}"]
        ours += [f"--datadir={self.folder / 'data'}", f"--tmpdir={self.folder}", f"--port={self._port}"]
        ours += [f"--init-file={self.folder / 'account.sql'}"]
        ours += ["--user=root"] if os.geteuid() == 0 else []
        return [*ours, *_SERVER, *self._options]

    def _launch(self) -> None:
        """Start the server on a free port. If another process takes the port first, try the next one."""
        for _ in range(_PORTS_TO_TRY):
            self._port = _free_port(self._port)
            if self._answers(self._begin()):
                return
            log = self._log.read_text(errors="replace")
            if _PORT_TAKEN not in log:
                break
        raise RuntimeError(f"MariaDB did not start: {last_lines(log)}")

    def _begin(self) -> subprocess.Popen[str]:
        assert self._programs is not None
        self._tell("kill")
        command = ["sh", "-c", _SERVE, str(self.folder / "tables.sql"), *self._command()]
        with self._log.open("wb") as log:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _GUARD, str(self.folder), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self._programs.environment,
                start_new_session=True,  # Ctrl-C is for the tests, which still want to clean up
            )
        assert self._guard.stdout is not None
        self._pid = int(self._guard.stdout.readline() or 0)
        return self._guard

    def _answers(self, guard: subprocess.Popen[str]) -> bool:
        """Return whether the server accepts its password in time. Another server on the port would refuse it."""
        deadline = time.monotonic() + _START_SECONDS
        while guard.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(pymysql.err.OperationalError):
                self._connection().close()
                return True
            time.sleep(0.05)
        return False

    def _tell(self, word: str) -> None:
        """Send a word to the guard and wait until the server has ended."""
        if self._guard is not None:
            self._guard.communicate(word, timeout=_START_SECONDS)
            self._guard = None


def find(path: str | None = None, cache: Path | None = None) -> Programs:
    """Return an installed server, an unpacked one, or one that is downloaded now. Raises NoMariaDb.

    Args:
        path: where to search for an installed server. None: PATH and /usr/sbin, which PATH often lacks.
        cache: the folder for downloaded servers.
    """
    for name in ("mariadbd", "mysqld"):
        found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin" if path is None else path)
        if found and (installed := Programs(Path(found).resolve())).usable():
            return installed
    try:
        return _programs(unpacked("mariadb", _PACKAGE, lambda tree: _programs(tree).usable(), cache))
    except NoPackage as why:
        raise NoMariaDb(why) from why


def _programs(tree: Path) -> Programs:
    return Programs(tree / "usr" / "sbin" / "mariadbd", tuple(libraries(tree)))


def _end_connection(cursor: pymysql.cursors.Cursor, number: int) -> None:
    try:
        cursor.execute("KILL %s", (number,))
    except pymysql.err.OperationalError as problem:
        if problem.args[0] != ER.NO_SUCH_THREAD:  # it ended by itself
            raise


def _free_port(wanted: int) -> int:
    """Return the wanted port if it is free, otherwise another one. 0 means any port."""
    try:
        with socket.create_server(("127.0.0.1", wanted)) as probe:
            return int(probe.getsockname()[1])
    except OSError:
        return _free_port(0)
