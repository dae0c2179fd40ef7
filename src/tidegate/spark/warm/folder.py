"""Where a warm engine says how it is reached, and whether what it says can be trusted.

Each engine has a folder of its own, named after what a command must share with it. In it:

| file | holds |
| --- | --- |
| `engine.json` | port, token and process of an engine that is ready |
| `alive` | a lock that the engine's supervisor holds while it lives |
| `in-use` | a lock that every command shares while it uses the engine |
| `start` | a lock of the command that starts the engine |
| `log` | what supervisor and JVM print |
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import tidegate
from tidegate._version import __version__
from tidegate.spark.java import cache_dir
from tidegate.spark.warm import locks
from tidegate.spark.warm.private import NotPrivate, make_folder, read_private, require_private_folder, write_private

FOLDER = "TIDEGATE_ENGINE_FOLDER"
"""The variable that names another folder for all engines of a user."""
_TOKEN_CHARACTERS = 32
NOBODY = -1
_LISTENING = "0A"
_LOOPBACK = ("0100007F", "7F000001")  # 127.0.0.1, as hosts of either byte order print it; also mapped into IPv6
_SOCKETS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


@dataclass(frozen=True)
class Address:
    """How an engine that is ready is reached."""

    port: int
    token: str
    pid: int
    """The supervisor."""
    started_at: str
    idle: int
    identity: str
    version: str
    python: str

    def __repr__(self) -> str:
        return f"<Address of a warm engine at port {self.port}, process {self.pid}>"


@dataclass(frozen=True)
class EngineFolder:
    """The folder of one engine, which may be running or not."""

    path: Path

    @property
    def alive(self) -> Path:
        return self.path / "alive"

    @property
    def in_use(self) -> Path:
        return self.path / "in-use"

    @property
    def start(self) -> Path:
        return self.path / "start"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def _file(self) -> Path:
        return self.path / "engine.json"

    def make(self) -> None:
        """Create the folder, for this user alone. Raises NotPrivate."""
        make_folder(self.path.parent)
        make_folder(self.path)

    def publish(self, address: Address) -> None:
        write_private(self._file, json.dumps(asdict(address)))

    def clear(self) -> None:
        self._file.unlink(missing_ok=True)

    def address(self) -> Address | None:
        """Return the address of an engine that runs here and can be trusted; None where none runs. Raises NotPrivate
        for one that cannot be trusted."""
        try:
            require_private_folder(self.path.parent)
            address = Address(**json.loads(read_private(self._file)))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise NotPrivate(f"{self._file} was not written by this version") from None
        if len(address.token) < _TOKEN_CHARACTERS or self.path.name != address.identity:
            raise NotPrivate(f"{self._file} belongs to another engine")
        if not locks.is_held(self.alive):
            return None  # it was killed
        owner = owner_of_port(address.port)
        if owner == NOBODY:
            return None
        if owner is not None and owner != os.geteuid():
            raise NotPrivate(f"port {address.port} belongs to another user")
        return address


def engine_folder(options: Mapping[str, str]) -> EngineFolder:
    """Return the folder of the engine that fits this process: same installation, same Python, same options of Spark."""
    return EngineFolder(_root() / identity(options))


def all_engine_folders() -> Iterator[EngineFolder]:
    """Yield the folders of all engines of this user, also those of other installations. Raises NotPrivate."""
    root = _root()
    try:
        folders = sorted(path for path in root.iterdir() if path.is_dir())
    except FileNotFoundError:
        return
    except OSError as problem:
        raise NotPrivate(f"{root} cannot be opened: {problem.strerror}") from None
    yield from map(EngineFolder, folders)


def identity(options: Mapping[str, str]) -> str:
    """Return a name for everything that a command and its engine must have in common."""
    import pyspark

    facts = [
        platform.node(),
        __version__,
        pyspark.__version__,
        sys.version,
        sys.executable,
        os.environ.get("PYTHONPATH", ""),
        _code(Path(tidegate.__file__).parent),
        *(f"{name}={value}" for name, value in sorted(options.items())),
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _code(package: Path) -> str:
    """Return a text that changes with every change of the package: workers of the engine have imported it."""
    newest, files = 0, 0
    for folder, folders, names in os.walk(package):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            newest, files = max(newest, os.stat(os.path.join(folder, name)).st_mtime_ns), files + 1
    return f"{package} {files} {newest}"


def _root() -> Path:
    chosen = os.environ.get(FOLDER)
    return Path(chosen).absolute() if chosen else cache_dir() / "engines"


def owner_of_port(port: int) -> int | None:
    """Return the user whose process listens at this port of 127.0.0.1, or NOBODY; None where no system table tells."""
    found: int | None = None
    for table in _SOCKETS:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        found = NOBODY if found is None else found
        for line in lines:
            _, local, _, state, _, _, _, user, *_ = line.split()
            address, _, number = local.rpartition(":")
            if state == _LISTENING and int(number, 16) == port and address.endswith(_LOOPBACK):
                return int(user)
    return found
