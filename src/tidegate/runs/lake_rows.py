"""The committed entries of a table in the lake, for readers outside of a run: what each holds, and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.errors import LakeError
from tidegate.interfaces.lake import Lake, LakeTable
from tidegate.interfaces.requests import BatchSize
from tidegate.model.state import LakeEntry
from tidegate.runs.plan import planning
from tidegate.runs.run import Pipeline

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class LakeRows:
    """One table in the lake. `entries` are its windows in their order, each with its entry."""

    key: str
    name: str
    """The name of the target table, without its schema."""
    lake: Lake
    table: LakeTable
    keys: tuple[str, ...]
    """The columns that name a row; empty where nothing does."""
    entries: tuple[tuple[str, LakeEntry], ...]
    batch: BatchSize

    def batches(self, entry: LakeEntry, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of an entry. Raises LakeError."""
        return self.lake.read(self.table, entry.id, self.batch, columns)


def lake_rows(pipeline: Pipeline, key: str) -> LakeRows:
    """Return what the lake holds of a table. Reads catalogs and the lake; starts no Spark and writes nothing."""
    with planning(pipeline) as planner:
        result = planner.plan([key])[0]
    table, entries = result.require_table(), sorted(result.require_state().lake.items())
    broken = [(window, entry.broken) for window, entry in entries if entry.broken]
    if broken:
        raise LakeError(
            f"{key} {broken[0][0]}: the lake entry cannot be used ({broken[0][1]}).",
            "Nothing was delivered.",
            "Run `tidegate run`: it extracts this window again.",
        )
    return LakeRows(
        key,
        table.found.target_name.name,
        pipeline.lake,
        table.lake_table,
        table.load.row_keys,
        tuple((window.text, entry) for window, entry in entries),
        table.found.batch,
    )
