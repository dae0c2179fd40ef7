"""Rows for a snapshot that lie in a file or in a table, as a frame that is read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError, MissingObject, NotNative, ValueProblem
from tidegate.interfaces import BatchSize, Database, ReadRequest
from tidegate.model.columns import TableSchema
from tidegate.model.names import TableName
from tidegate.sql.text import Sql, raw

if TYPE_CHECKING:
    import pyarrow as pa

UNTOUCHED = "Nothing was read or written."
FORMATS = {".csv": "csv", ".feather": "feather"}


def rows_of_file(path: Path) -> Any:
    """Return the rows of a file, or of a folder of Parquet files, as a pyarrow dataset."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if not path.exists():
        raise ConfigError(f"{path} does not exist.", UNTOUCHED, "Name a Parquet, CSV or Feather file.")
    try:
        return ds.dataset(path, format=FORMATS.get(path.suffix.lower(), "parquet"))
    except (pa.ArrowException, OSError) as problem:
        raise ConfigError(
            f"{path} cannot be read: {problem}.", UNTOUCHED, "Name a Parquet, CSV or Feather file."
        ) from None


class TableRows:
    """The rows of a table, optionally those that meet a condition. Every pass reads them anew."""

    def __init__(self, database: Database, table: str, condition: str = "") -> None:
        from tidegate.hashing.arrow import arrow_schema

        self._database = database
        self._rows: Sql | None = raw(condition) if condition else None
        self._table = self._found(TableName.parse(table).within(database.default_schema))
        self.schema: pa.Schema = arrow_schema(self._table.columns)

    def to_batches(self, batch_size: int) -> Iterator[pa.RecordBatch]:
        request = ReadRequest(self._table.name, self._table.columns, self._rows, batch=BatchSize(rows=batch_size))
        with self._database.connect("snapshot rows", read_only=True) as session:
            try:
                yield from session.read(request)
            except NotNative as problem:
                raise ValueProblem(
                    f"{self._table.name}: column {problem.column} has a value that no Arrow type holds, such as NaN.",
                    "Nothing was written.",
                    "Read the table through a view that casts the column to text.",
                ) from None

    def _found(self, name: TableName) -> TableSchema:
        with self._database.connect("snapshot rows", read_only=True) as session:
            found = session.table_schemas([name])
        if name not in found:
            raise MissingObject(f"There is no table {name}, or this login may not see it.", UNTOUCHED, "Name another.")
        return found[name]
