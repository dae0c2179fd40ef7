"""What is proposed for one table, and why."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.model.names import TableName


@dataclass(frozen=True)
class Setting:
    """One line of the file, and why it says that. Without a value only the reasons are written: it is left out."""

    name: str
    value: str | int | tuple[str, ...] | None
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """One table. Without a kind it is named in the file, with the reasons why it is not copied."""

    table: TableName
    kind: str
    reasons: tuple[str, ...]
    settings: tuple[Setting, ...] = ()
    lacks: str = ""
    """What a person has to fill in before it can run; empty when nothing."""

    @property
    def runs(self) -> bool:
        return bool(self.kind) and not self.lacks
