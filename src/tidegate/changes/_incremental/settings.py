"""The settings that every incremental change has."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator

from tidegate.changes._zones import CursorZone
from tidegate.settings import Columns, Duration, Settings, Text, wrong

Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
_NULL_CURSOR = re.compile(r"refuse|once|coalesce\(\s*[^()]+?\s*\)")


class IncrementalSettings(Settings):
    """A table of which only the rows are read that changed."""

    keys: Columns | None = None
    """What names a row. The source's primary key, when it is left out."""
    look_back: Duration | None = None
    """How far before the watermark reading starts: `10 minutes`, which is the default for times, or so many numbers."""
    max_hold: Duration = 900
    """How long an open transaction may hold the watermark back. After that the watermark goes on, and what the
    transaction may still write is read again once it ended."""
    null_cursor: Text = "refuse"
    """What happens to rows without a cursor value: `refuse`, `coalesce(created_at)` (another column counts for them),
    or `once` (they are read as they come, and never again when they change)."""

    completeness_tolerance: Percent = 0.0
    """With `check: [content, completeness]`: by how many percent the number of rows may differ from the source's."""

    @field_validator("null_cursor")
    @classmethod
    def _is_a_policy(cls, given: str) -> str:
        if _NULL_CURSOR.fullmatch(given.strip()) is None:
            raise wrong("must be `refuse`, `once` or `coalesce(column)`")
        return given.strip()


class TimeSettings(IncrementalSettings):
    """A table with a column of the time of the last change."""

    timestamp_column: Text
    """The column that tells when a row changed: `updated_at`. Or several: `greatest(updated_at, created_at)`,
    `coalesce(updated_at, created_at)`."""
    cursor_zone: CursorZone = None
    """The time zone of a time without a zone: `utc`, `server` (the default), or a name such as `Europe/Berlin`."""
