"""Hybrid: rows are read by the time of their last change, and rows of an equal time are ordered by an id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.changes._incremental.change import IncrementalChange
from tidegate.changes._incremental.settings import TimeSettings
from tidegate.errors import ConfigError
from tidegate.model.columns import Column, TableSchema
from tidegate.settings import Text
from tidegate.tables.found import UNTOUCHED, named_column


class HybridSettings(TimeSettings):
    """A table that is read by the time of the last change, and by an id where times are equal."""

    id_column: Text | None = None
    """The column that orders rows of an equal time. The primary key, when it is left out and has one column."""


@dataclass(frozen=True)
class HybridChange(IncrementalChange):
    """The change of one table that is read by a time and an id."""

    name = "hybrid"
    Settings = HybridSettings

    @classmethod
    def _tie_breaker(cls, settings: Any, source: TableSchema) -> Column | None:
        if settings.id_column is not None:
            return named_column(settings, source, settings.id_column, "id_column")
        if len(source.primary_key) == 1:
            return source.exact_column(source.primary_key[0])
        raise ConfigError(
            f"{settings.name}: which column orders rows of an equal {settings.timestamp_column} is not known.",
            UNTOUCHED,
            "Name it as `id_column`, or use `changes: timestamp`, which needs none.",
        )
