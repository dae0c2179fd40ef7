"""What the suite shares: one server of each kind and one Spark session per run, each started at the first need."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from kit.one_process import OneProcess
from kit.pairs import ALL_ARE_ASKED_FOR

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres


pytest_plugins = ["kit.summary"]

# A shell starts background processes with Ctrl-C ignored, and child processes would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A machine with other work on it may take any time for an example, and nothing about speed is asserted.
settings.register_profile("tidegate", deadline=None)
settings.load_profile("tidegate")


_SHORT = ("architecture", "docs", "sql", "unit")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where workers share the tests, files of short tests come last: a worker that began a long file at the end would
    keep all others waiting."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path.relative_to(Path(__file__).parent).parts[0] in _SHORT)


@pytest.fixture(scope="session", autouse=True)
def no_warm_engine_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands of the tests find no engine but those that tests start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEGATE_ENGINE_FOLDER", str(tmp_path_factory.mktemp("engines") / "none"))
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """PostgreSQL 18, without fsync."""
    from tidegate.demo.embedded import EmbeddedPostgres

    with EmbeddedPostgres(durable=False) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """MariaDB, from the machine or from its distribution's packages. Where there is none its tests are skipped, with
    the reason; where everything must be tested, they fail."""
    from kit.mariadb import MariaDb, NoMariaDb

    with ExitStack() as stack:
        try:
            server = stack.enter_context(MariaDb())
        except NoMariaDb as absence:
            if os.environ.get("TIDEGATE_TEST_EVERYTHING"):
                raise
            pytest.skip(str(absence))
        yield server


@pytest.fixture(scope="session")
def logging_mariadb() -> Iterator[MariaDb]:
    """MariaDB with a binary log, for the tests that read it or change it: they purge it, and kill the server."""
    from kit.logged import logging_server
    from kit.mariadb import NoMariaDb

    with ExitStack() as stack:
        try:
            server = stack.enter_context(logging_server())
        except NoMariaDb as absence:
            if os.environ.get("TIDEGATE_TEST_EVERYTHING"):
                raise
            pytest.skip(str(absence))
        yield server


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """The URL of an empty database that is dropped after the test, whoever is still connected."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> SparkSession:
    """What runs the tasks of stories that do not depend on it.

    On everyday runs that is this process, which takes half the time and sends each task through pickle as Spark does.
    TIDEGATE_ALL_PAIRS=1 runs them all on Spark. What Spark itself does is tested with `spark`, every day."""
    if ALL_ARE_ASKED_FOR:
        session: SparkSession = request.getfixturevalue("spark")
        return session
    return OneProcess()  # type: ignore[return-value]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session. Tests that stop it or need other settings start a process of their own."""
    from tidegate.spark.session import close_session, open_session

    session = open_session("local[2]")
    yield session
    close_session(session)
