"""What a check offers: it compares both sides of a table within its scope and returns findings with severities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import Lake
from tidegate.model.report import Comparison, Finding
from tidegate.model.values import Value

if TYPE_CHECKING:
    from tidegate.tables.planned import PlannedTable


@dataclass(frozen=True)
class Snapshot:
    """One state of a database that many tasks read. Without a name, each task reads at its own moment."""

    name: str = ""
    taken_at: str = ""
    """The server's clock when it was taken; not later than anything that it shows."""


@dataclass(frozen=True)
class Sides:
    """What all comparisons of one verification share."""

    source: Database
    target: Database
    lake: Lake
    snapshot: Snapshot
    deep: bool
    """Whether findings name the keys that differ."""


class Check(ABC):
    """One way to compare a table. A check has no state: its methods get everything as arguments."""

    name: ClassVar[str]
    loads: ClassVar[tuple[str, ...]] = ()
    """The loads that the check understands; empty for a check that understands every load."""
    compares_content: ClassVar[bool] = False
    """Whether the content of both sides is compared. With a `transform`, each side is compared with its own entries of
    the lake instead."""

    @abstractmethod
    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        """Return what is compared, and findings about what is not."""

    @abstractmethod
    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> Any:
        """Return the split that reads both sides of a window; None where what planning found is enough."""

    @abstractmethod
    def evaluate(self, planned: PlannedTable, window: Value, result: Any) -> tuple[Comparison | None, list[Finding]]:
        """Return what the result of that split says."""
