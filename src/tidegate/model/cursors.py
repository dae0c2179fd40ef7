"""The cursor of a table: one column, or several of which the greatest or the first value counts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.model.columns import Column

_COMBINED = re.compile(r"\s*(greatest|coalesce)\s*\(\s*(.+?)\s*\)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class CursorNames:
    """The names of cursor columns, as a user wrote them: `updated_at`, or `greatest(updated_at, created_at)`."""

    names: tuple[str, ...]
    combined: str = "coalesce"
    """`greatest`, or `coalesce`: the first value that is not null."""

    @classmethod
    def parse(cls, text: str) -> CursorNames:
        found = _COMBINED.fullmatch(text)
        if found is None:
            return cls((text,))
        return cls(tuple(name.strip() for name in found[2].split(",")), found[1].lower())


@dataclass(frozen=True)
class Cursor:
    """The columns whose values grow with change."""

    columns: tuple[Column, ...]
    combined: str = "coalesce"
    is_extracted: bool = True
    """Rows come with the values. A system column such as `xmin` is asked in the source alone."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def type(self) -> str:
        """Return the type of the first column, in the words of its database."""
        return self.columns[0].type

    @property
    def nullable(self) -> bool:
        """Return whether a row may have no cursor value."""
        return all(column.nullable for column in self.columns)

    def __str__(self) -> str:
        return self.names[0] if len(self.columns) == 1 else f"{self.combined}({', '.join(self.names)})"
