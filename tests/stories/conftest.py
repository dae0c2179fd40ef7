"""Fixtures of the stories: five days of trades in the source, an empty lake and an empty target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit import sides
from kit.copied import Copies
from kit.orders import Orders
from kit.pairs import first_daily, pairs
from kit.project import FIVE_DAYS, Stories, Story, database_on
from kit.witness import Witness

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres


EMPTY = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
DROP SCHEMA IF EXISTS public, tidegate CASCADE;
CREATE SCHEMA public
"""


@pytest.fixture(scope="session")
def stories(
    postgres: EmbeddedPostgres, engine: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stories]:
    """Create stories from PostgreSQL to PostgreSQL."""
    with ExitStack() as opened:
        yield Stories(lambda kind: database_on(postgres), engine, tmp_path_factory, opened)


@pytest.fixture(scope="module")
def new_orders(
    postgres: EmbeddedPostgres, mariadb: MariaDb, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Orders]]:
    """Create a source with a table of orders, a lake and a target, on these kinds of databases."""
    servers: dict[str, EmbeddedPostgres | MariaDb] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:

        def make(source: str, target: str) -> Orders:
            urls = [opened.enter_context(database_on(servers[kind])) for kind in (source, target)]
            return Orders(*urls, tmp_path_factory.mktemp("lake")).open()

        yield make


@pytest.fixture(params=first_daily(*pairs("mysql to postgresql"), *pairs("postgresql to mysql")), ids=" to ".join)
def orders(new_orders: Callable[[str, str], Orders], request: pytest.FixtureRequest) -> Orders:
    return new_orders(*request.param)


@pytest.fixture
def plain_orders(new_orders: Callable[[str, str], Orders]) -> Orders:
    """Orders between two databases of PostgreSQL, for what does not depend on the database."""
    return new_orders("postgresql", "postgresql")


@pytest.fixture(scope="session")
def everyday(stories: Stories) -> Story:
    """The databases that stories share one after the other: emptying a database is faster than dropping it."""
    return stories()


@pytest.fixture
def story(everyday: Story, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Five days of trades. A test that is marked `spark` runs on Spark, whatever the others run on."""
    on_spark = request.node.get_closest_marker("spark") is not None
    session = request.getfixturevalue("spark") if on_spark else everyday.spark
    for url in (everyday.source, everyday.target):
        with Witness(url) as witness:
            witness.do(EMPTY)
    fresh = Story(everyday.source, everyday.target, tmp_path_factory.mktemp("lake"), session)
    sides.create(fresh.source)
    fresh.fill(*FIVE_DAYS)
    return fresh


@pytest.fixture
def copies(postgres: EmbeddedPostgres, mariadb: MariaDb, tmp_path: Path) -> Iterator[Copies]:
    """Create pairs of empty databases, of any kinds."""
    with ExitStack() as opened:
        yield Copies({"mysql": mariadb, "postgresql": postgres}, tmp_path, opened)
