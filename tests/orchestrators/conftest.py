"""Orchestrators are tested in environments of their own: `make test-airflow`, `make test-dagster`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.project import database_on
from kit.shop import Shop

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres

collect_ignore = [f"test_{name}.py" for name in ("airflow", "dagster") if find_spec(name) is None]


@pytest.fixture
def shop(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Shop]:
    with database_on(postgres) as source, database_on(postgres) as target:
        yield Shop(source, target, tmp_path).open()
