"""What a database needs to know to divide one window among several tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.model.columns import TableSchema

if TYPE_CHECKING:
    from tidegate.interfaces.requests import ReadRequest


@dataclass(frozen=True)
class Divisible:
    """A request that is large enough for several tasks, and what is known of its rows."""

    request: ReadRequest
    table: TableSchema
    rows: int
    """About how many rows there are."""
    fixed: tuple[str, ...] = ()
    """Columns that have one value in all of these rows: the partition column of a window."""
    ranged: str = ""
    """The column of which these rows are a range: a cursor."""
