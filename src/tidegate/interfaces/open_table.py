"""One table of a lake, by its name: what readers and writers besides the runs of a project use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.errors import Unsupported
from tidegate.model.lake_versions import LakeVersion

if TYPE_CHECKING:
    import pyarrow as pa


class OpenTable(ABC):
    """A table in a table format, whoever made it."""

    @property
    @abstractmethod
    def exists(self) -> bool: ...

    @abstractmethod
    def versions(self) -> list[LakeVersion]:
        """Return the states that led to the current one, oldest first."""

    @abstractmethod
    def next_version(self) -> int:
        """Return the number that the next state of the table gets."""

    @abstractmethod
    def metadata(self) -> dict[str, Any]:
        """Return what the format says of the table. Raises LakeError when there is none."""

    @abstractmethod
    def rows(
        self,
        version: str | None = None,
        columns: Sequence[str] | None = None,
        where: str = "",
        after: str | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of a state, else of the current one. `where` is a condition such as `id > 5`.

        With `after`, return the rows that came since that state. Raises LakeError where rows were also changed."""

    @abstractmethod
    def create(self, schema: pa.Schema) -> None:
        """Make the table with these columns. Does nothing when it is there."""

    @abstractmethod
    def append(self, rows: pa.Table) -> LakeVersion:
        """Add rows in one commit, which makes a new state. Makes the table where there is none."""

    def adopt(self) -> str:
        """Name a table that lies in the lake without being in its catalog, and return where. Raises LakeError."""
        raise Unsupported("This format has no catalog: a table is known by its folder.", "Nothing was changed.", "")

    @abstractmethod
    def properties(self) -> dict[str, str]: ...

    @abstractmethod
    def set_properties(self, values: Mapping[str, str]) -> None: ...
