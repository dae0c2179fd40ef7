"""One commit that is about to be made to a table of a table format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Conflict(Exception):
    """Somebody else committed since the table was looked at."""


@dataclass(frozen=True)
class Landing:
    """What one commit is to change: files that come, and files that go."""

    facts: Mapping[str, Any]
    add: tuple[str, ...] = ()
    """Names of files in the folder of the data."""
    remove: tuple[str, ...] = ()
    removes_all: bool = False
    """Everything that is in the table goes."""
    keeps_rows: bool = False
    """The files that come have exactly the rows of those that go."""
