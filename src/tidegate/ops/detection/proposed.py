"""The proposal for one table: its settings, each with its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.model.names import TableName


@dataclass(frozen=True)
class Setting:
    """One setting and its reasons. None as value: only the reasons are written, as comments."""

    name: str
    value: str | int | tuple[str, ...] | Mapping[str, bool | str] | None
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """The proposal for one table. Without a kind the file has only a comment with the reasons."""

    table: TableName
    kind: str
    reasons: tuple[str, ...]
    settings: tuple[Setting, ...] = ()
    missing: str = ""
    """What the user has to fill in before the table can run; empty when nothing."""
    instead: Proposal | None = None
    """A better proposal that cannot run before the user has filled something in; written as a comment."""

    @property
    def can_run(self) -> bool:
        return bool(self.kind) and not self.missing
