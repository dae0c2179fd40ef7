"""What a database offers for its native partitions: their layout, new ones, and switching one for a staged table.

A switch goes in this order: `create_stage`, rows into the stage, `finish_stage`, and in one transaction `lock`,
`switch` and whatever the load records. The rows of the stage are proved before the transaction begins, so readers wait
only for the metadata operation, whatever the number of rows is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tidegate.model.names import TableName
from tidegate.model.native import NativePartition, NewPartition, PartitionLayout, Precondition
from tidegate.model.values import ValueKind
from tidegate.sql.text import Sql


@dataclass(frozen=True)
class Switch:
    """A partition that is switched for a stage. `old` is an unused name for a table of its old rows."""

    layout: PartitionLayout
    partition: NativePartition
    stage: TableName
    old: TableName
    wait_seconds: float = 1.0
    """How long a lock is waited for. Readers that come meanwhile queue behind the wait, so it is short."""

    @property
    def table(self) -> TableName:
        return self.layout.table


class NativePartitions(ABC):
    """The native partitions of a server's tables, as one open session sees and changes them."""

    commits_itself: bool = False
    """The switch commits the open transaction: a record of it is written before and after."""

    @abstractmethod
    def layout(self, table: TableName, kind: ValueKind | None) -> PartitionLayout | None:
        """Return how the server partitions a table; None if it does not. `kind` orders the column's values."""

    @abstractmethod
    def preconditions(
        self, layout: PartitionLayout, partition: NativePartition | None, stage: TableName | None
    ) -> list[Precondition]:
        """Return what must be so before the partition can be switched for the stage, and whether it is.

        Without a stage or a partition, only what concerns the table. Reads the catalog, no rows."""

    def can_split(self, layout: PartitionLayout, partition: NativePartition) -> bool:
        """Return whether a new partition can be split off from this one, while it is empty."""
        return partition.is_default

    @abstractmethod
    def new_boundaries(self, layout: PartitionLayout, new: NewPartition) -> list[Sql]:
        """Return the DDL that creates a partition. What it splits must be empty."""

    @abstractmethod
    def create_stage(
        self, layout: PartitionLayout, partition: NativePartition, stage: TableName, *, compress: bool
    ) -> None:
        """Create an empty table like the partition, without indexes where they can be built after the rows came."""

    @abstractmethod
    def finish_stage(self, layout: PartitionLayout, partition: NativePartition, stage: TableName) -> None:
        """Build indexes and constraints of a filled stage, so that nothing is left to check in the switch."""

    @abstractmethod
    def rebuild_indexes(self, stage: TableName) -> None:
        """Build the indexes of a stage anew."""

    @abstractmethod
    def update_statistics(self, table: TableName) -> None: ...

    @abstractmethod
    def lock_rows(self, switch: Switch) -> None:
        """Keep others from writing to the partition until the open transaction ends. Readers go on."""

    @abstractmethod
    def switch(self, switch: Switch) -> None:
        """Put the stage in the partition's place, inside of the open transaction. Raises Transient when the lock cannot
        be had in `wait_seconds`: everything is then as it was.

        Afterwards the partition has the rows of the stage, and `replaced_rows` has those that the partition had. A
        second switch of the same tables brings them back, where a switch commits by itself."""

    def replaced_rows(self, switch: Switch) -> TableName:
        """Return the table that has the partition's old rows after the switch."""
        return switch.old

    @property
    def can_carry_rows(self) -> bool:
        """Return whether `lock_rows` keeps other rows of the partition unchanged until the switch."""
        return not self.commits_itself

    @abstractmethod
    def rows_of(self, layout: PartitionLayout, partition: NativePartition) -> Sql:
        """Return the rows of one partition, for a FROM."""
