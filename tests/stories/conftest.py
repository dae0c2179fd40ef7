"""Stories start with five days of trades in the source, an empty lake and an empty target."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.project import CREATE, FIVE_DAYS, Story, copy_database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres


@pytest.fixture(scope="session")
def stories(
    postgres: EmbeddedPostgres, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Story]]:
    """Makes stories. Their databases are dropped when the session ends."""
    made: list[str] = []

    def make() -> Story:
        name = f"story_{uuid.uuid4().hex[:12]}"
        made.extend((f"{name}_prod", f"{name}_uat"))
        source = copy_database(postgres, "story_template", f"{name}_prod")
        target = postgres.create_database(f"{name}_uat")
        return Story(source, target, tmp_path_factory.mktemp("lake"), spark)

    template = Story(postgres.create_database("story_template"), "", Path(), spark)
    template.in_source(CREATE)
    template.fill(*FIVE_DAYS)
    yield make
    for name in ("story_template", *made):
        postgres.drop_database(name)


@pytest.fixture
def story(stories: Callable[[], Story]) -> Story:
    return stories()
