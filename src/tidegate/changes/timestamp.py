"""Timestamp: rows are read by the time of their last change, such as `updated_at`, from a look-back on."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.changes._incremental.change import IncrementalChange
from tidegate.changes._incremental.settings import TimeSettings


class TimestampSettings(TimeSettings):
    """A table that is read by the time of the last change of a row."""


@dataclass(frozen=True)
class TimestampChange(IncrementalChange):
    """The change of one table that is read by a time."""

    name = "timestamp"
    Settings = TimestampSettings
