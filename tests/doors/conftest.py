"""Fixtures of the doors: a shop with a table of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.project import database_on
from kit.receiver import Receiver, receiving
from kit.shop import Shop

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres


@pytest.fixture
def shop(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Shop]:
    with database_on(postgres) as source, database_on(postgres) as target:
        yield Shop(source, target, tmp_path).open()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server
