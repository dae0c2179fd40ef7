"""Delta: one table per synced table, one version per window, with an application transaction that lands it once.

| what                  | where                                                                            |
| --------------------- | -------------------------------------------------------------------------------- |
| a table               | `default/orders/`, `sales/orders/`: `data/` and `_delta_log/`                    |
| the facts of an entry | `userMetadata` of its commit                                                     |
| the mark of a landing | the application transaction `tidegate:orders`, which counts up                   |

Tasks write the files; this process commits their names through delta-rs. Planning reads the log's JSON files alone.

Facts that shape this file
 * In a bucket delta-rs is the only writer: Spark puts its commits without a condition, over those of others.
 * delta-rs checks nothing of a file that is added: not its types, not that it exists.
 * Two commits with the same application conflict, and without repetition so does every other commit in between.
 * Without column mapping the names of columns have no spaces and none of `,;{}()=`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError
from tidegate.interfaces.lake import LakeTable
from tidegate.lakes._columns import Field, Fitted, fit, spark_columns, with_ids
from tidegate.lakes._commits import Commit
from tidegate.lakes._landing import Landing
from tidegate.lakes._tables import TableLake
from tidegate.lakes.delta.log import Place, read_log
from tidegate.storage.door import Storage
from tidegate.storage.local import LocalFolder
from tidegate.storage.objects import Bucket

if TYPE_CHECKING:
    import pyarrow as pa

CLEANED = "cleaned"
"""The fact of a commit that names the oldest version that can still be read."""
UNWANTED = " ,;{}()\n\t="


@dataclass(frozen=True)
class DeltaLake(TableLake):
    """Delta tables below one folder."""

    kind = "delta"

    storage: Storage
    fields: Mapping[str, Mapping[str, Field]] = field(default_factory=dict)
    """The fields of tables whose rows are about to be written."""

    @classmethod
    def at(cls, path: Path) -> DeltaLake:
        return cls(LocalFolder(path))

    @classmethod
    def at_bucket(cls, url: str, store: Mapping[str, str]) -> DeltaLake:
        return cls(Bucket.of(url.replace("s3a://", "s3://", 1), store))

    # What is there

    def commits(self, table: LakeTable) -> list[Commit]:
        commits = read_log(self.storage, self.folder(table))
        filed = next((commit.facts for commit in commits if "layout" in commit.facts), None)
        if filed is not None and (filed["column"], filed["layout"]) != (table.column, table.layout.value):
            raise LakeError(
                f"The Delta table {self.folder(table)} holds rows by {filed['column']} ({filed['layout']}),"
                f" not by {table.column} ({table.layout.value}).",
                "It was neither read nor written.",
                "Move it away, or give this project a lake of its own.",
            )
        until = max((int(commit.facts.get(CLEANED, -1)) for commit in commits), default=-1)
        return [replace(commit, is_expired=True) if int(commit.version) < until else commit for commit in commits]

    def kept_files(self, table: LakeTable, commits: Sequence[Commit]) -> set[str]:
        now = {name.rpartition("/")[2] for name in self.files_at(table)}
        return now | {name for commit in commits[1:] for name in commit.taken}

    def expire(self, table: LakeTable, commits: Sequence[Commit], kept: Sequence[Commit]) -> None:
        """Note in the log which states can no longer be read. The log itself stays: its facts are the entries."""
        from tidegate.lakes.delta.versions import note

        first = str(int(commits[-1].version) + 1)
        facts = {"dropped": [], CLEANED: first, "column": table.column, "layout": table.layout.value}
        note(self._place(table), {"tidegate.cleaned": first}, facts)

    def taken_files(self, table: LakeTable, commit: Commit) -> set[str]:
        return {*commit.taken, *commit.moved}

    def brought_files(self, table: LakeTable, commit: Commit) -> set[str]:
        return set(commit.brought)

    def named_files(self, folder: str) -> set[str]:
        return {
            file for commit in read_log(self.storage, folder) for file in (*commit.files, *commit.keys, *commit.brought)
        }

    def files_at(self, table: LakeTable, version: str | None = None) -> list[str]:
        from tidegate.lakes.delta.versions import opened, sizes

        found = opened(self._place(table), version)
        return [] if found is None else [f"{self.folder(table)}/{file}" for file in sizes(found)]

    def spark_schema(self, table: LakeTable) -> str:
        return spark_columns(self._known_fields(table))

    # Writing

    def prepared(self, table: LakeTable, schema: pa.Schema) -> DeltaLake:
        return replace(self, fields={**self.fields, str(table.name): self._fitted(table, schema)})

    def file_schema(self, table: LakeTable, schema: pa.Schema) -> pa.Schema:
        fields = self.fields.get(str(table.name), {})
        fitted = self._fit(table, fields, schema)
        if not fitted.fits:
            fields = self._fitted(table, schema)
            fitted = self._fit(table, fields, schema)
        return with_ids(schema, fitted.names, fields)

    def _fit(self, table: LakeTable, fields: Mapping[str, Field], schema: pa.Schema) -> Fitted:
        return fit(str(table.name), fields, schema, widens=False, unwanted=UNWANTED)

    def _fitted(self, table: LakeTable, schema: pa.Schema) -> Mapping[str, Field]:
        """Return the fields of the table, which has all that these columns need."""
        from tidegate.lakes.delta.versions import add_fields

        self.commits(table)  # refuses a table that is filed otherwise
        for _ in range(20):
            fields = self._known_fields(table)
            fitted = self._fit(table, fields, schema)
            if fields and fitted.fits:
                return fields
            facts = {"dropped": [], "column": table.column, "layout": table.layout.value}
            add_fields(self._place(table), fitted.added, facts)
        raise LakeError(
            f"The Delta table {self.folder(table)} did not take new columns: other writers were faster each time.",
            "Nothing was committed.",
            "Run again when they are done.",
        )

    def _known_fields(self, table: LakeTable) -> Mapping[str, Field]:
        from tidegate.lakes.delta.versions import fields_of, opened

        found = opened(self._place(table), None)
        return {} if found is None else fields_of(found)

    def land(self, table: LakeTable, seen: Sequence[Commit], landing: Landing) -> None:
        from tidegate.lakes.delta.versions import land

        facts: dict[str, Any] = {**landing.facts, "column": table.column, "layout": table.layout.value}
        land(self._place(table), f"tidegate:{table.name}", seen[-1].version, replace(landing, facts=facts))

    def _place(self, table: LakeTable) -> Place:
        return Place(self.storage, self.folder(table))
