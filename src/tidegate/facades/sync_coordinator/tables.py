"""Tables of an Iceberg warehouse: rows are appended and read, also as they were."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.api import lake_table
from tidegate.facades.sync_coordinator.models import AppendResult, ReadOptions
from tidegate.model.lake_versions import LakeVersion

if TYPE_CHECKING:
    import pyarrow as pa


class IcebergReader:
    """Reads tables of a warehouse row by row, in batches: the memory does not grow with the table."""

    def __init__(self, warehouse: str | Path) -> None:
        self.warehouse = Path(warehouse)

    def read(self, table_name: str, options: ReadOptions | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table as dictionaries."""
        for batch in self.read_batches(table_name, options):
            yield from batch.to_pylist()

    def read_snapshot(self, table_name: str, snapshot_id: int) -> Iterator[dict[str, Any]]:
        """Yield the rows that the table had at a snapshot."""
        return self.read(table_name, ReadOptions(snapshot_id=snapshot_id))

    def read_batches(self, table_name: str, options: ReadOptions | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Arrow batches."""
        wanted = options or ReadOptions()
        version, after = (
            None if number is None else str(number) for number in (wanted.snapshot_id, wanted.since_snapshot_id)
        )
        found = lake_table("iceberg", self.warehouse, table_name).rows(version, wanted.columns, wanted.filter, after)
        for batch in found:
            for begin in range(0, batch.num_rows, wanted.batch_size):
                yield batch.slice(begin, wanted.batch_size)

    def snapshots(self, table_name: str) -> list[LakeVersion]:
        """Return the snapshots of a table, oldest first."""
        return lake_table("iceberg", self.warehouse, table_name).versions()


class IcebergAppender:
    """Appends rows to tables of a warehouse, each time as one new snapshot. A table that is not there is made."""

    def __init__(self, warehouse: str | Path) -> None:
        self.warehouse = Path(warehouse)

    def append(self, table_name: str, new_data: Any) -> AppendResult:
        """Commit rows: dictionaries, an Arrow table, or a frame of pandas, Polars or Spark."""
        table = lake_table("iceberg", self.warehouse, table_name)
        rows = _as_arrow(new_data)
        version = table.append(rows)
        return AppendResult(table_name, int(version.id), rows.num_rows, version.moment)


class FilesystemCatalog:
    """The tables of a warehouse folder. `metadata/version-hint.text` and `v{N}.metadata.json` are kept in each table,
    beside the catalog that decides."""

    def __init__(self, warehouse: str | Path) -> None:
        self.warehouse = Path(warehouse)

    def initialize_table(self, table_name: str, schema: pa.Schema | Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Make a table with these columns, an Arrow schema or some rows, and return its metadata."""
        table = lake_table("iceberg", self.warehouse, table_name)
        table.create(_as_arrow(schema).schema if isinstance(schema, list) else schema)
        return table.metadata()

    def commit(self, table_name: str, new_data: Any) -> AppendResult:
        """Commit rows as one new snapshot, or nothing at all."""
        return IcebergAppender(self.warehouse).append(table_name, new_data)

    append_snapshot = commit

    def load_table(self, table_name: str) -> dict[str, Any]:
        """Return the current metadata of a table, as the format has it."""
        return lake_table("iceberg", self.warehouse, table_name).metadata()

    def table_exists(self, table_name: str) -> bool:
        return lake_table("iceberg", self.warehouse, table_name).exists

    def get_next_version(self, table_name: str) -> int:
        """Return the number that the next state of a table gets: 1 for a table that is not there."""
        table = lake_table("iceberg", self.warehouse, table_name)
        return table.next_version() if table.exists else 1


def _as_arrow(rows: Any) -> pa.Table:
    import pyarrow as pa

    if isinstance(rows, (pa.Table, pa.RecordBatch)):
        return pa.table(rows)
    for method in ("toArrow", "to_arrow"):
        if hasattr(rows, method):
            return getattr(rows, method)()
    if hasattr(rows, "columns"):
        return pa.Table.from_pandas(rows, preserve_index=False)
    return pa.Table.from_pylist(list(rows))
