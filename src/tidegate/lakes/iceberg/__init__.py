"""Iceberg: one table per synced table, one snapshot per window, in a warehouse in a folder or a bucket.

| what                        | where                                                                     |
| --------------------------- | ------------------------------------------------------------------------- |
| the catalog                 | `catalog.db` or a server, shared with Spark, named `tidegate`             |
| a table                     | `default/orders/`, `sales/orders/`: `data/` and `metadata/`                |
| the facts of an entry       | the summary of its snapshot: `tidegate.window`, `.run`, `.rows`, `.hash`   |
| columns of entries          | properties of the table, one for each set of columns                      |
| for readers without catalog | `metadata/version-hint.text` and `metadata/v{N}.metadata.json`             |

A partition table is partitioned by its column. Tasks write the files; this process commits their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.lakes._columns import Field, fit, spark_columns, with_ids
from tidegate.lakes._commits import PREFIX, Commit
from tidegate.lakes._landing import Landing
from tidegate.lakes._tables import TableLake
from tidegate.lakes.iceberg.catalog import Catalog, fields_of
from tidegate.lakes.iceberg.commits import KEPT, commits_of, described, kept_as_text
from tidegate.lakes.iceberg.tables import IcebergTable
from tidegate.model.names import TableName
from tidegate.storage.bucket_settings import Pairs
from tidegate.storage.door import Storage
from tidegate.storage.local import LocalFolder
from tidegate.storage.objects import Bucket

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class IcebergLake(TableLake):
    """Iceberg tables below one folder."""

    kind = "iceberg"
    has_table_properties = True
    has_partition_specs = True

    storage: Storage
    catalog_settings: Pairs = field(default=(), repr=False)
    fields: Mapping[str, Mapping[str, Field]] = field(default_factory=dict)
    """The fields of tables whose rows are about to be written: tasks need no catalog."""

    @classmethod
    def at(cls, path: Path) -> IcebergLake:
        return cls(LocalFolder(path))

    @classmethod
    def at_bucket(cls, url: str, store: Mapping[str, str]) -> IcebergLake:
        return cls(Bucket.of(url.replace("s3a://", "s3://", 1), store))

    def cataloged(self, settings: Mapping[str, str]) -> IcebergLake:
        lake = replace(self, catalog_settings=tuple(sorted(settings.items())))
        lake.catalog.require_place()
        return lake

    @property
    def catalog(self) -> Catalog:
        return Catalog(self.storage, self.catalog_settings)

    # What is there

    def commits(self, table: LakeTable) -> list[Commit]:
        metadata = self.catalog.metadata(self.names(table.name))
        if metadata is None:
            return []
        self._require_own(table, metadata)
        return commits_of(metadata)

    def _require_own(self, table: LakeTable, metadata: Mapping[str, Any]) -> None:
        stored = metadata.get("properties", {})
        filed = stored.get(f"{PREFIX}column"), stored.get(f"{PREFIX}layout")
        if filed != (table.column, table.layout.value):
            raise LakeError(
                f"The Iceberg table {'.'.join(self.names(table.name))} holds rows by {filed[0]} ({filed[1]}),"
                f" not by {table.column} ({table.layout.value}).",
                "It was neither read nor written.",
                "Move it away in the catalog, or give this project a lake of its own.",
            )

    def files_at(self, table: LakeTable, version: str | None = None) -> list[str]:
        from tidegate.lakes.iceberg.snapshots import files_at

        with self.catalog.opened() as catalog:
            opened = catalog.load_table(self.names(table.name))
            return files_at(self.storage, opened, int(version) if version is not None else None)

    def spark_schema(self, table: LakeTable) -> str:
        metadata = self.catalog.metadata(self.names(table.name))
        return spark_columns(fields_of(metadata)) if metadata is not None else ""

    def taken_files(self, table: LakeTable, commit: Commit) -> set[str]:
        from tidegate.lakes.iceberg.snapshots import taken_files

        with self.catalog.opened() as catalog:
            return taken_files(catalog.load_table(self.names(table.name)), int(commit.version))

    def brought_files(self, table: LakeTable, commit: Commit) -> set[str]:
        from tidegate.lakes.iceberg.snapshots import brought_files

        with self.catalog.opened() as catalog:
            return brought_files(catalog.load_table(self.names(table.name)), int(commit.version))

    def replaces_partitions(self, table: LakeTable) -> bool:
        metadata = self.catalog.metadata(self.names(table.name)) or {}
        specs = {spec["spec-id"]: spec["fields"] for spec in metadata.get("partition-specs", ())}
        fields = specs.get(metadata.get("default-spec-id"), ())
        # A partition of a day or of a prefix has other values besides the one that comes again.
        return bool(fields) and all(field["transform"] == "identity" for field in fields)

    def small_files(self, table: LakeTable, below: int) -> list[list[tuple[str, int]]]:
        from tidegate.lakes.iceberg.catalog import inside
        from tidegate.lakes.iceberg.snapshots import small_files

        with self.catalog.opened() as catalog:
            found = small_files(catalog.load_table(self.names(table.name)), below)
        return [[(inside(self.storage, place), size) for place, size in group] for group in found]

    def named_files(self, folder: str) -> set[str]:
        schema, _, name = folder.partition("/")
        metadata = self.catalog.metadata((schema, name))
        if metadata is None:
            return set()
        known = commits_of(metadata)
        named = {file for commit in known for file in (*commit.files, *commit.keys)}
        from tidegate.lakes.iceberg.snapshots import all_files

        with self.catalog.opened() as catalog:
            return named | all_files(catalog.load_table((schema, name)))

    def kept_files(self, table: LakeTable, commits: Sequence[Commit]) -> set[str]:
        from tidegate.lakes.iceberg.snapshots import files_of

        known = {commit.version for commit in self.commits(table)}
        leaving = known - {commit.version for commit in commits}
        with self.catalog.opened() as catalog:
            return files_of(catalog.load_table(self.names(table.name)), leaving)

    def expire(self, table: LakeTable, commits: Sequence[Commit], kept: Sequence[Commit]) -> None:
        from tidegate.lakes.iceberg.snapshots import expire

        gone = {commit.version for commit in commits}
        facts = [commit for commit in kept if commit.is_expired or commit.version in gone]
        with self.catalog.opened() as catalog:
            expire(catalog.load_table(self.names(table.name)), gone, {KEPT: kept_as_text(facts)})
            self._mirror(self.names(table.name))

    # Writing

    def prepared(self, table: LakeTable, schema: pa.Schema) -> IcebergLake:
        return replace(self, fields={**self.fields, str(table.name): self._fitted(table, schema)})

    def file_schema(self, table: LakeTable, schema: pa.Schema) -> pa.Schema:
        fields = self.fields.get(str(table.name), {})
        fitted = fit(str(table.name), fields, schema)
        if not fitted.fits:
            fields = self._fitted(table, schema)
            fitted = fit(str(table.name), fields, schema)
        return with_ids(schema, fitted.names, fields)

    def _fitted(self, table: LakeTable, schema: pa.Schema) -> dict[str, Field]:
        """Return the fields of the table, which has all that these columns need."""
        names = self.names(table.name)
        for _ in range(20):
            metadata = self.catalog.metadata(names)
            if metadata is not None:
                self._require_own(table, metadata)
            fields = fields_of(metadata) if metadata is not None else {}
            fitted = fit(str(table.name), fields, schema)
            if metadata is not None and fitted.fits:
                return fields
            by = (table.column, table.partition) if table.layout is Layout.VALUES else None
            filed = {"table": str(table.name), "column": table.column, "layout": table.layout.value}
            self.catalog.ensure(names, fitted, by, {f"{PREFIX}{name}": text for name, text in filed.items()})
        raise LakeError(
            f"The Iceberg table {'.'.join(names)} did not take new columns: other writers were faster each time.",
            "Nothing was committed.",
            "Run again when they are done.",
        )

    def land(self, table: LakeTable, seen: Sequence[Commit], landing: Landing) -> None:
        from tidegate.lakes.iceberg.snapshots import land

        facts, properties = described(landing.facts)
        with self.catalog.opened() as catalog:
            opened = catalog.load_table(self.names(table.name))
            land(opened, seen[-1].version if seen else None, replace(landing, facts=facts), properties)
            self._mirror(self.names(table.name))

    def _mirror(self, names: tuple[str, str]) -> None:
        """Write the files by which readers without a catalog find the newest metadata. Nothing depends on them."""
        from tidegate.lakes.iceberg.mirror import write_mirror

        location = self.catalog.location(names)
        if location is not None:
            write_mirror(self.storage, f"{'/'.join(names)}/metadata", location)

    # Besides the runs of a project

    def opened(self, name: TableName) -> IcebergTable:
        return IcebergTable(self.catalog, self.names(name), self._mirror)
