"""What the whole suite shares: one PostgreSQL server and one Spark session per run, each started at the first need."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """PostgreSQL 18, without fsync."""
    from tidegate.demo.embedded import EmbeddedPostgres

    with EmbeddedPostgres(durable=False) as server:
        yield server


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """The URL of an empty database that is dropped after the test, whoever is still connected."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session. Tests that stop it or need other settings start a process of their own."""
    from tidegate.spark.session import close_session, open_session

    session = open_session("local[2]")
    yield session
    close_session(session)
