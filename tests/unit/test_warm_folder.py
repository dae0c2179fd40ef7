"""The folder of a warm engine: what is trusted, who may use the engine, and which engine fits a command."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import NoReturn

import pytest

from tidegate.errors import Locked, SparkUnavailable
from tidegate.spark.warm import folder as folders
from tidegate.spark.warm import locks
from tidegate.spark.warm.client import lease
from tidegate.spark.warm.control import engines, start, stop
from tidegate.spark.warm.folder import FOLDER, NOBODY, Address, EngineFolder, engine_folder, identity, owner_of_port
from tidegate.spark.warm.private import NotPrivate
from tidegate.spark.warm.session import NotUsable, surroundings, warm_session


@pytest.fixture
def port() -> Iterator[int]:
    """A port at which this process listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: int) -> Iterator[EngineFolder]:
    """The folder of an engine that seems to run: this process holds its lock and listens at its port."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "engines"))
    folder = engine_folder({})
    folder.make()
    folder.publish(address_of(folder, port))
    alive = locks.take(folder.alive)
    assert alive is not None
    yield folder
    alive.close()


def address_of(folder: EngineFolder, port: int) -> Address:
    return Address(port, "t" * 43, os.getpid(), "2026-01-01T00:00:00+00:00", 60, folder.path.name, "1.0", "python")


def write(folder: EngineFolder, text: str) -> None:
    (folder.path / "engine.json").write_text(text)


def test_engine_is_found_by_its_folder(folder: EngineFolder, port: int):
    address = folder.address()
    assert address is not None
    assert (address.port, address.pid) == (port, os.getpid())
    assert address.token not in repr(address)
    assert [path.stat().st_mode & 0o777 for path in (folder.path, folder.path / "engine.json")] == [0o700, 0o600]


def test_absent_or_dead_engine_is_none(folder: EngineFolder, port: int):
    """Without a file, without the supervisor's lock, and without a listener there is no engine."""
    assert engine_folder({"spark.x": "other"}).address() is None
    folder.publish(replace(address_of(folder, port), port=1))
    assert folder.address() is None
    folder.clear()
    assert folder.address() is None


def test_killed_supervisor_is_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: int):
    monkeypatch.setenv(FOLDER, str(tmp_path / "engines"))
    folder = engine_folder({})
    folder.make()
    folder.publish(address_of(folder, port))
    assert folder.address() is None
    assert stop(folder) is False


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda folder: (folder.path / "engine.json").chmod(0o644), "is open to other users (mode 0644)"),
        (lambda folder: folder.path.chmod(0o755), "is open to other users (mode 0755)"),
        (lambda folder: folder.path.parent.chmod(0o777), "is open to other users (mode 0777)"),
        (lambda folder: os.link(folder.path / "engine.json", folder.path / "second"), "is not a plain file"),
        (lambda folder: write(folder, "{}"), "was not written by this version"),
        (lambda folder: write(folder, "half of a"), "was not written by this version"),
        (lambda folder: write(folder, json.dumps({**asdict(address_of(folder, 1)), "token": "short"})), "another"),
        (lambda folder: write(folder, json.dumps({**asdict(address_of(folder, 1)), "identity": "x"})), "another"),
    ],
    ids=["file mode", "folder mode", "root mode", "second name", "empty", "half", "short token", "other identity"],
)
def test_engine_that_others_could_write_is_not_trusted(folder: EngineFolder, spoil, why: str):
    """A run falls back to a Spark of its own and warns; `start` and `stop` refuse; `status` says why."""
    spoil(folder)
    with pytest.raises(NotPrivate, match=why.replace("(", r"\(").replace(")", r"\)")):
        folder.address()
    with pytest.raises(NotUsable, match="is not trusted: "):
        warm_session({}, 60, may_start=True)
    for act in (lambda: start({}, 60), lambda: stop(folder)):
        with pytest.raises(SparkUnavailable, match="The warm engine is not trusted"):
            act()
    assert [(found.fits, bool(found.problem)) for found in engines({})] == [(True, True)]


def test_link_is_not_trusted(folder: EngineFolder, tmp_path: Path):
    """Nobody can lead a command to a file elsewhere."""
    file = folder.path / "engine.json"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotPrivate, match="cannot be opened"):
        folder.address()


def test_other_owner_is_not_trusted(folder: EngineFolder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(NotPrivate, match="belongs to another user"):
        folder.address()


def test_folder_that_cannot_be_entered_is_not_trusted(folder: EngineFolder, monkeypatch: pytest.MonkeyPatch):
    """Somebody named the folder of another user, who closed it. It is said, without a stack trace."""

    def closed(path: Path, **options: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(path))

    for name in ("lstat", "iterdir", "mkdir"):
        monkeypatch.setattr(Path, name, closed)
    with pytest.raises(SparkUnavailable, match="cannot be entered by this user"):
        start({}, 60)
    [found] = engines({})
    assert (found.address, "Permission denied" in found.problem) == (None, True)


def test_port_of_another_user_is_not_trusted(folder: EngineFolder, monkeypatch: pytest.MonkeyPatch):
    """After an engine died, somebody else may listen at its port. He must not get the token."""
    monkeypatch.setattr(folders, "owner_of_port", lambda port: os.geteuid() + 1)
    with pytest.raises(NotPrivate, match=r"port \d+ belongs to another user"):
        folder.address()


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not list sockets")
def test_owner_of_a_port(port: int):
    assert owner_of_port(port) == os.geteuid()
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert owner_of_port(bound.getsockname()[1]) == NOBODY


def test_engine_in_use_is_not_stopped(folder: EngineFolder, monkeypatch: pytest.MonkeyPatch):
    """Several runs share it. While one of them holds its lease, `stop` is an error and sends no signal."""
    monkeypatch.setattr("tidegate.spark.warm.control._IN_USE_SECONDS", 0.05)
    monkeypatch.setattr(os, "kill", lambda pid, number: pytest.fail("a signal was sent"))
    first, second = lease(folder), lease(folder)
    assert first is not None
    assert second is not None
    first.close()
    assert [found.is_in_use for found in engines({})] == [True]
    with pytest.raises(Locked, match="is in use"):
        stop(folder)
    second.close()
    assert [found.is_in_use for found in engines({})] == [False]


def test_engine_that_stops_gives_no_lease(folder: EngineFolder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tidegate.spark.warm.client._LEASE_SECONDS", 0.05)
    stopping = locks.take(folder.in_use)
    assert stopping is not None
    assert lease(folder) is None
    stopping.close()


def test_lease_notes_the_last_use(folder: EngineFolder):
    """The idle time begins when the last lease is closed, also if nobody looked while it was held."""
    used = lease(folder)
    assert used is not None
    os.utime(folder.in_use, (0, 0))
    used.close()
    looked = locks.take(folder.in_use)
    assert looked is not None
    assert looked.last_used > 0
    os.utime(folder.in_use, (0, 0))
    looked.close(used=False)
    assert folder.in_use.stat().st_mtime == 0


def test_each_installation_has_its_own_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another version, another Python, other code, other options: another engine."""
    found = {identity({}), identity({"spark.a": "1"}), identity({"spark.a": "2"})}
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    found.add(identity({}))
    monkeypatch.setattr(folders, "__version__", "9.9")
    found.add(identity({}))
    monkeypatch.setattr("sys.executable", "/usr/bin/python9")
    found.add(identity({}))
    monkeypatch.setattr(folders, "_code", lambda package: "changed")
    found.add(identity({}))
    assert len(found) == 7
    assert identity({}) == identity({})


def test_tasks_get_environment_and_folder_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What only the engine's environment has is gone; what is about Python and Spark stays the engine's."""
    monkeypatch.setenv("TIDEGATE_TEST_OF_RUN", "yes")
    monkeypatch.setenv("SPARK_HOME", "of the run")
    monkeypatch.chdir(tmp_path)
    around = surroundings()
    assert "yes" not in repr(around)

    monkeypatch.chdir("/")
    monkeypatch.setenv("SPARK_HOME", "of the engine")
    monkeypatch.setenv("TIDEGATE_TEST_OF_ENGINE", "yes")
    monkeypatch.setenv("TIDEGATE_TEST_OF_RUN", "no")
    around.enter()

    names = ("TIDEGATE_TEST_OF_RUN", "TIDEGATE_TEST_OF_ENGINE", "SPARK_HOME")
    assert [os.environ.get(name) for name in names] == ["yes", None, "of the engine"]
    assert Path.cwd() == tmp_path
