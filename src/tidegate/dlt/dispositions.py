"""How a table is written to a destination: from the layout of its entries and from what the destination can do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.errors import Unsupported
from tidegate.interfaces.lake import Layout

WINDOW = "_tidegate_window"
"""The column of the destination that says which window a row belongs to."""
_UNTOUCHED = "Nothing was written."


@dataclass(frozen=True)
class Way:
    """How one table is written."""

    disposition: str
    """`replace`, `append` or `merge`, as the plan says it."""
    strategy: str = ""
    """The merge strategy of dlt; empty where dlt merges nothing."""
    keys: tuple[str, ...] = ()
    """The columns by which rows are merged."""

    @property
    def is_whole(self) -> bool:
        """Return whether all rows go at once, whichever entry is new."""
        return self.disposition == "replace"

    @property
    def is_ordered(self) -> bool:
        """Return whether each entry needs a load package of its own: later rows have the last word."""
        return self.disposition == "merge" and bool(self.keys)

    @property
    def hints(self) -> dict[str, Any]:
        """Return the hints of a dlt resource."""
        if not self.strategy:
            return {"write_disposition": self.disposition}
        # Of rows with one key in several windows, that of the newest window counts.
        newest = {"columns": {WINDOW: {"data_type": "text", "dedup_sort": "desc"}}}
        by = {"primary_key": list(self.keys), **newest} if self.keys else {"merge_key": WINDOW}
        return {"write_disposition": {"disposition": "merge", "strategy": self.strategy}, **by}

    def __str__(self) -> str:
        if self.is_whole:
            return "replace the whole table"
        by = f"by {', '.join(self.keys)}" if self.keys else "each window replaces itself"
        return f"{self.disposition} ({by})" if self.strategy else "append"


def way_of(key: str, layout: Layout, keys: Sequence[str], asked: str | None, strategies: Collection[str]) -> Way:
    """Return how a table is written. Raises Unsupported where the destination cannot, with what to do instead."""
    wanted = asked or {Layout.WHOLE: "replace", Layout.VALUES: "merge", Layout.LOG: "merge"}[layout]
    if wanted == "replace" and layout is Layout.LOG:
        raise Unsupported(
            f"{key}: its lake entries are changes, and `replace` would leave only the newest of them.",
            _UNTOUCHED,
            "Use `merge`, or `append` to keep every change as it was extracted.",
        )
    if wanted == "replace":
        return Way("replace")
    replaces_windows = "delete-insert" in strategies
    if wanted == "append" or (wanted == "merge" and layout is Layout.VALUES and not asked):
        if replaces_windows:
            return Way(wanted, "delete-insert")
        return Way("replace") if layout is Layout.VALUES and not asked else Way("append")
    if not keys:
        raise Unsupported(
            f"{key}: nothing names a row, so its changes cannot be merged.",
            _UNTOUCHED,
            f"Name `keys` of the table, or write `dispositions: {{{key}: append}}` below `dlt:`.",
        )
    strategy = next((one for one in ("delete-insert", "upsert") if one in strategies), None)
    if strategy is None:
        raise Unsupported(
            f"{key}: its lake entries are changes, which this destination cannot merge.",
            _UNTOUCHED,
            f"Use `table_format: delta`, or write `dispositions: {{{key}: append}}` below `dlt:`, which keeps every"
            " change as it was extracted.",
        )
    return Way("merge", strategy, tuple(keys))
