"""The MariaDB server and the witness that the tests use, without any code of Tidegate."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from kit.mariadb import MariaDb, NoMariaDb, Programs, find
from kit.mysql_witness import MysqlWitness, differences
from kit.processes import CAN_SEE, command_line, wait_until

OWNER = """
import sys
from kit.mariadb import MariaDb
server = MariaDb()
server.start()
print(server.pid, server.folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def programs() -> Programs:
    try:
        return find()
    except NoMariaDb as absence:
        if os.environ.get("TIDEGATE_TEST_EVERYTHING"):
            raise
        pytest.skip(str(absence))


@pytest.fixture(scope="module")
def mariadb(programs: Programs) -> Iterator[MariaDb]:
    with MariaDb(programs=programs) as server:
        yield server


@pytest.fixture
def witness(mariadb: MariaDb) -> Iterator[MysqlWitness]:
    with mariadb.database() as url, MysqlWitness(url) as witness:
        yield witness


def ask(url: str, question: str) -> object:
    with MysqlWitness(url) as witness:
        return witness.ask(question)[0][0]


def test_server_requires_its_password(mariadb: MariaDb):
    """The server listens on localhost and refuses a wrong password or another user."""
    assert "MariaDB" in str(ask(mariadb.url(), "SELECT version()"))
    assert ask(mariadb.url(), "SELECT @@bind_address") == "127.0.0.1"
    assert ask(mariadb.url(), "SELECT @@character_set_server") == "utf8mb4"

    with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
        MysqlWitness(mariadb.url().replace("mysql://tidegate:", "mysql://tidegate:x"))
    with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
        MysqlWitness(mariadb.url().replace("mysql://tidegate:", "mysql://root:"))


def test_databases_are_separate_and_dropped(mariadb: MariaDb):
    """Two databases have separate tables and are dropped at the end."""
    with mariadb.database() as one, mariadb.database("CHARACTER SET latin1") as other:
        with MysqlWitness(one) as first, MysqlWitness(other) as second:
            first.create("t", {"a": "int"})
            second.create("t", {"a": "int"})
            first.insert("t", ["a"], [["1"]])

            assert first.cells("t", ["a"]) == [(b"1",)]
            assert second.cells("t", ["a"]) == []
        assert ask(one, "SELECT @@character_set_database") == "utf8mb4"
        assert ask(other, "SELECT @@character_set_database") == "latin1"

    for url in (one, other):
        with pytest.raises(pymysql.err.OperationalError, match="Unknown database"):
            MysqlWitness(url)


def test_database_with_open_transaction_is_dropped(mariadb: MariaDb):
    """A database is dropped although a session has an open transaction in it."""
    url = mariadb.create_database("a b/`ü`")
    with MysqlWitness(url) as witness:
        witness.create("t", {"a": "int"})
        witness.do("START TRANSACTION")
        witness.insert("t", ["a"], [["1"]])

        mariadb.drop_database("a b/`ü`")

        with pytest.raises(pymysql.err.OperationalError):
            witness.ask("SELECT 1")
    mariadb.drop_database("a b/`ü`")


@pytest.mark.parametrize(
    "stop", [pytest.param(MariaDb.stop, id="stop", marks=pytest.mark.thorough), pytest.param(MariaDb.kill, id="kill")]
)
def test_committed_rows_and_port_survive_a_restart(programs: Programs, stop):
    """After a stop or a kill, the server starts at the same URL with its committed rows."""
    with MariaDb("--lower-case-table-names=1", programs=programs) as server:
        url = server.create_database("kept")
        with MysqlWitness(url) as witness:
            witness.create("T", {"a": "int"})
            witness.insert("T", ["a"], [["7"]])

        stop(server)
        with pytest.raises(pymysql.err.OperationalError):
            MysqlWitness(url)
        server.start()

        assert ask(url, "SELECT a FROM t") == 7


def test_close_removes_the_server_and_is_idempotent(programs: Programs):
    """Closing ends the process and removes its folder. Closing again does nothing."""
    server = MariaDb(programs=programs)
    server.start()
    url, folder, pid = server.url(), server.folder, server.pid
    server.start()
    assert server.pid == pid

    server.close()
    server.close()

    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(pymysql.err.OperationalError):
        MysqlWitness(url)


@pytest.mark.skipif(not CAN_SEE, reason="other processes cannot be seen without /proc")
@pytest.mark.parametrize(
    "how",
    [
        None,
        pytest.param(signal.SIGINT, marks=pytest.mark.thorough),
        pytest.param(signal.SIGTERM, marks=pytest.mark.thorough),
        signal.SIGKILL,
    ],
)
def test_server_ends_with_its_owner(programs: Programs, how: signal.Signals | None):
    """However the owning process ends, the server ends and its folder is removed."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert process.stdout is not None
    pid, folder = process.stdout.readline().split()
    assert folder in command_line(int(pid))

    if how is not None:
        process.send_signal(how)
    process.communicate(timeout=60)

    wait_until(lambda: not command_line(int(pid)), "the server has ended")
    wait_until(lambda: not Path(folder).exists(), "its folder is removed")


def test_failed_start_shows_the_reason(programs: Programs):
    """A server that cannot start raises an error with the server's own message."""
    with pytest.raises(RuntimeError, match="unknown option '--no-such-option'"):
        MariaDb("--no-such-option", programs=programs).__enter__()


def test_missing_server_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without MariaDB and apt-get, the error says in one sentence how to get a server."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NoMariaDb) as absence:
        find(path=str(tmp_path), cache=tmp_path)

    assert str(absence.value) == (
        "There is no MariaDB server here and none could be fetched (no apt-get either): "
        "run `apt-get install mariadb-server-core`, or set TIDEGATE_TEST_MYSQL to the URL of a server."
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="a machine without apt-get")
def test_apt_get_error_is_in_the_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """When apt-get fails, its message is part of the error."""
    nothing = tmp_path / "apt.conf"
    nothing.write_text(
        f'Dir::State::lists "{tmp_path}"; Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "/dev/null";'
    )
    monkeypatch.setenv("APT_CONFIG", str(nothing))

    with pytest.raises(NoMariaDb, match=r"fetched \(apt-get: .*mariadb-server-core.*\): run `apt-get install"):
        find(path="", cache=tmp_path / "cache")

    assert list((tmp_path / "cache").iterdir()) == []


def test_witness_reads_back_its_bytes(witness: MysqlWitness):
    """The witness reads back every byte and text that it wrote, with hostile names."""
    everything = bytes(range(256))
    strings = ["", " ", "\\", "\\'", "it's", '"', "%s %% {}", "\0\n\r\x1a", "NULL", "é🙂"]
    witness.create("s`%", {"a`%": "varchar(20)", "b": "varbinary(256)"})
    witness.insert("s`%", ["a`%", "b"], [[text, everything[: len(text)]] for text in strings] + [[None, everything]])

    expected = [(text.encode(), everything[: len(text)]) for text in strings]
    assert witness.cells("s`%", ["a`%", "b"]) == [(None, everything), *sorted(expected)]


@pytest.mark.parametrize(
    ("kind", "given", "seen"),
    [
        ("varchar(3) CHARACTER SET latin1", "é", b"\xe9"),
        ("varchar(3) CHARACTER SET utf16", "🙂", b"\xd8\x3d\xde\x42"),
        ("char(5)", "a  ", b"a"),
        ("binary(3)", b"\xff", b"\xff\0\0"),
        ("bit(9)", b"\x01\x55", b"\x01\x55"),
        ("bigint unsigned", "18446744073709551615", b"18446744073709551615"),
        ("int NOT NULL AUTO_INCREMENT PRIMARY KEY", "0", b"0"),
        ("decimal(65,30)", f"-{'9' * 35}.{'1' * 30}", f"-{'9' * 35}.{'1' * 30}".encode()),
        ("float", "16777217", struct.pack(">d", 16777216.0)),
        ("float", "0.1", struct.pack(">d", struct.unpack("f", struct.pack("f", 0.1))[0])),
        ("double", "0.30000000000000004", struct.pack(">d", 0.30000000000000004)),
        ("double", "5e-324", struct.pack(">d", 5e-324)),
        ("double", "-1.7976931348623157e308", struct.pack(">d", -1.7976931348623157e308)),
        ("date", "0000-00-00", b"0000-00-00"),
        ("date", "2024-02-31", b"2024-02-31"),
        ("datetime", "0000-00-00 00:00:00", b"0000-00-00 00:00:00.000000"),
        ("datetime(6)", "9999-12-31 23:59:59.999999", b"9999-12-31 23:59:59.999999"),
        ("timestamp(3) NULL", "1970-01-01 05:45:01.5", b"1970-01-01 05:45:01.500000"),
        ("time(6)", "-838:59:59.000001", b"-838:59:59.000001"),
        ("year", "2155", b"2155"),
        ("enum('a','b')", "b", b"b"),
        ("set('a','b','c')", "a,c", b"a,c"),
        ("json", '{"a": 1.0}', b'{"a": 1.0}'),
    ],
)
def test_witness_sees_the_stored_value(witness: MysqlWitness, kind: str, given: str | bytes, seen: bytes):
    """The witness shows each value as the server stores it, byte by byte."""
    witness.create("t", {"a": kind})
    witness.insert("t", ["a"], [[given]])

    assert witness.cells("t", ["a"]) == [(seen,)]


def test_too_long_value_is_refused(witness: MysqlWitness):
    """A value that is too long is refused and not cut."""
    witness.create("t", {"a": "varchar(2)"}, options="ENGINE = MyISAM")

    with pytest.raises(pymysql.err.DataError, match="too long"):
        witness.insert("t", ["a"], [["abc"]])


def test_one_bit_difference_is_found(mariadb: MariaDb, witness: MysqlWitness):
    """A difference of one bit in a double is reported."""
    columns = {"id": "int", "a": "double"}
    with mariadb.database() as url, MysqlWitness(url) as target:
        for side, value in ((witness, "0.3"), (target, "0.30000000000000004")):
            side.create("t", columns)
            side.insert("t", columns, [["1", value], ["2", None]])

        assert differences(witness, witness, "t", columns) == []
        assert differences(witness, target, "t", columns) == [r"a: double b'?\xd3333333' became double b'?\xd3333334'"]

        target.insert("t", columns, [["3", "0"]])
        assert differences(witness, target, "t", columns) == ["2 rows in the source, 3 in the target"]
