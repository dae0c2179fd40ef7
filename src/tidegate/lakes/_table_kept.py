"""Tables of a table format that a load keeps as its target: rows leave and come in one commit.

Each commit says which window it brought. So a load that was killed after its commit, and before the ledger knew of it,
is found here and not done again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError, TidegateError
from tidegate.interfaces.lake import KeptTable, LakeTable, Part
from tidegate.interfaces.requests import BatchSize
from tidegate.lakes._commits import Commit
from tidegate.lakes._landing import Conflict, Landing
from tidegate.lakes._table_format import file_name, first_line
from tidegate.lakes._table_reads import TableReads
from tidegate.storage.door import Storage

if TYPE_CHECKING:
    import pyarrow as pa

_LOAD, _ROWS = "load", "table_rows"


class TableKept(TableReads):
    """Reads and commits tables that are targets."""

    keeps_targets = True

    def kept(self, table: LakeTable) -> KeptTable:
        commits = self.commits(table)
        if not commits:
            return KeptTable()
        files = tuple(self.files_at(table))
        loads = {commit.facts[_LOAD]["window"]: commit.facts[_LOAD] for commit in commits if _LOAD in commit.facts}
        texts = sorted({name for load in loads.values() for name in load.get("text_columns", ())})
        return KeptTable(commits[-1].version, files, self._rows(commits, files), loads, tuple(texts))

    def _rows(self, commits: Sequence[Commit], files: Sequence[str]) -> int:
        """Return how many rows the table has: as our newest commit says, unless others changed some since."""
        for commit in reversed(commits):
            if _ROWS in commit.facts:
                return int(commit.facts[_ROWS])
            if not commit.facts and commit.operation != "replace":
                break
        return sum(_rows_of(self.storage, file) for file in files)

    def kept_rows(self, file: str, schema: pa.Schema, batch: BatchSize) -> Iterator[pa.RecordBatch]:
        for rows in self.batches(file, batch, schema.names):
            yield _completed(rows, schema)

    def commit_kept(
        self, table: LakeTable, seen: str, parts: Sequence[Part], removed: Sequence[str], facts: Mapping[str, Any]
    ) -> bool:
        commits = self.commits(table)
        if (commits[-1].version if commits else "") != seen:
            return False
        names = tuple(file_name(part.id) for part in parts)
        told = {"dropped": [], "files": list(names), "run": facts["run"], _LOAD: dict(facts), _ROWS: facts["rows"]}
        try:
            self.land(table, commits, Landing(told, names, tuple(map(file_name, removed))))
        except Conflict:
            return False
        except TidegateError:
            raise
        except Exception as problem:
            if any(commit.facts.get("files") == list(names) for commit in self.commits(table)):
                return True
            raise LakeError(
                f"The commit of {facts['window']} to {self.folder(table)} in the lake {self.place} has no answer:"
                f" {first_line(problem)}.",
                "The ledger does not count it, and nothing is committed twice: the next run looks first.",
                "Run again when the catalog answers.",
            ) from None
        return True


def _completed(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows in the columns of the schema. A column that the file lacks is null."""
    import pyarrow as pa

    there = set(rows.schema.names)
    columns = [
        rows.column(field.name).cast(field.type) if field.name in there else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@lru_cache(maxsize=20_000)
def _rows_of(storage: Storage, file: str) -> int:
    """Return how many rows a file has. A file of a lake never changes."""
    import pyarrow.parquet as pq

    with storage.input(file) as opened:
        return int(pq.read_metadata(opened).num_rows)
