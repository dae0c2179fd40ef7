"""The catalog of an Iceberg warehouse: a SQLite file in it, which pyiceberg and Spark's JDBC catalog share.

Looking needs no pyiceberg: the catalog's row names the metadata file of a table, and that file is JSON. So planning
costs one query and one file for each table, however many snapshots it has.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from tidegate.errors import LakeError, Unsupported
from tidegate.lakes._columns import Field, Fitted

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table import Table

NAME = "tidegate"
"""Spark's catalog must have the same name: it is part of the key of the catalog's rows."""
FILE = "catalog.db"
_LOCATION = """
SELECT metadata_location
FROM iceberg_tables
WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?
"""
_PROPERTIES = {
    "format-version": "2",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "20",
    "write.parquet.compression-codec": "zstd",
}
_PARTITIONED_BY = {"int", "long", "date", "string", "timestamp", "timestamptz"}


@dataclass(frozen=True)
class Catalog:
    """Tables of one warehouse on a local or mounted folder."""

    root: Path

    @property
    def properties(self) -> dict[str, str]:
        """Return the properties of a new table."""
        return dict(_PROPERTIES)

    # Looking

    def location(self, names: tuple[str, str]) -> str | None:
        """Return the metadata file of a table; None when there is no such table."""
        file = self.root / FILE
        if not file.exists():
            return None
        try:
            with contextlib.closing(sqlite3.connect(f"file:{_escaped(file)}?mode=ro", uri=True, timeout=30)) as opened:
                row = opened.execute(_LOCATION, (NAME, *names)).fetchone()
        except sqlite3.OperationalError as problem:
            if "no such table" in str(problem):
                return None
            raise self._unusable(problem) from None
        except sqlite3.DatabaseError as problem:
            raise self._unusable(problem) from None
        return row[0] if row else None

    def metadata(self, names: tuple[str, str]) -> dict[str, Any] | None:
        """Return the metadata of a table; None when there is no such table."""
        location = self.location(names)
        try:
            return _parsed(local_path(location)) if location is not None else None
        except (OSError, ValueError) as problem:
            raise LakeError(
                f"The metadata of {'.'.join(names)} cannot be read: {problem}.",
                "The target keeps what it had.",
                f"Restore {location}, or move the table away in the catalog: then everything is extracted anew.",
            ) from None

    def _unusable(self, problem: sqlite3.Error) -> LakeError:
        return LakeError(
            f"The catalog {self.root / FILE} cannot be read: {problem}.",
            "Tables and target keep what they had.",
            "Restore the file from a backup, or name another `path` of the lake.",
        )

    # Writing

    @contextlib.contextmanager
    def opened(self) -> Iterator[SqlCatalog]:
        """Open the catalog for changes. Raises Unsupported where pyiceberg is not installed."""
        try:
            from pyiceberg.catalog.sql import SqlCatalog
        except ImportError as problem:
            raise Unsupported(
                f"The lake `iceberg` needs a package that is not installed: {problem.name}.",
                "Nothing was written.",
                "Install it: `pip install 'tidegate[iceberg]'`.",
            ) from None
        self.root.mkdir(parents=True, exist_ok=True)
        catalog = SqlCatalog(NAME, uri=f"sqlite:///{self.root / FILE}", warehouse=as_location(self.root))
        try:
            yield catalog
        finally:
            catalog.close()

    def ensure(self, names: tuple[str, str], fitted: Fitted, column: str | None, facts: Mapping[str, str]) -> None:
        """Make the table, or give it the fields that it lacks. `column` is what a new table is partitioned by."""
        from pyiceberg.exceptions import CommitFailedException, NoSuchTableError

        with self.opened() as catalog:
            for _ in range(10):
                try:
                    self._widen(catalog.load_table(names), fitted)
                    return
                except NoSuchTableError:
                    self._create(catalog, names, fitted, column, facts)
                    return
                except (CommitFailedException, ValueError):
                    # Another task added the same field: the caller looks again.
                    return

    def _create(
        self,
        catalog: SqlCatalog,
        names: tuple[str, str],
        fitted: Fitted,
        column: str | None,
        facts: Mapping[str, str],
    ) -> None:
        from pyiceberg.partitioning import PartitionField, PartitionSpec
        from pyiceberg.schema import Schema
        from pyiceberg.transforms import IdentityTransform
        from pyiceberg.types import NestedField

        kinds = {name: _as_type(kind) for name, kind in fitted.added.items()}
        fields = [
            NestedField(number, name, kind, required=False) for number, (name, kind) in enumerate(kinds.items(), 1)
        ]
        parts = []
        if column is not None and fitted.added.get(column) in _PARTITIONED_BY:
            source = next(field.field_id for field in fields if field.name == column)
            parts.append(PartitionField(source, 1000, IdentityTransform(), column))
        catalog.create_namespace_if_not_exists((names[0],))
        catalog.create_table_if_not_exists(
            names,
            Schema(*fields),
            location=as_location(self.root / names[0] / names[1]),
            partition_spec=PartitionSpec(*parts),
            properties={**_PROPERTIES, **facts},
        )

    def _widen(self, table: Table, fitted: Fitted) -> None:
        with table.update_schema() as update:
            for name, kind in fitted.added.items():
                update.add_column((name,), _as_type(kind))
            for name, kind in fitted.widened.items():
                update.update_column((name,), field_type=_as_type(kind))


def _as_type(kind: str) -> Any:
    from pyiceberg.types import NestedField

    # The parser of the format's own JSON.
    return NestedField.model_validate(
        {"id": 1, "name": "a", "type": kind.replace(" ", ""), "required": False}
    ).field_type


def fields_of(metadata: Mapping[str, Any]) -> dict[str, Field]:
    """Return the fields of the current schema."""
    current = metadata["current-schema-id"]
    schema = next(schema for schema in metadata["schemas"] if schema["schema-id"] == current)
    return {field["name"]: Field(str(field["type"]), field["id"]) for field in schema["fields"]}


def ancestors(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the snapshots that led to the current one, oldest first. After a rollback the list has others besides."""
    known = {snapshot["snapshot-id"]: snapshot for snapshot in metadata.get("snapshots", ())}
    found = []
    number = metadata.get("current-snapshot-id")
    while number in known:
        found.append(known[number])
        number = known[number].get("parent-snapshot-id")
    return found[::-1]


@lru_cache(maxsize=8)
def _parsed(path: str) -> dict[str, Any]:
    """Return a metadata file, which never changes once it is there."""
    metadata: dict[str, Any] = json.loads(Path(path).read_text())
    return metadata


def as_location(path: Path) -> str:
    """Return a place as Iceberg writes it. Readers decode a URI differently, so odd names stay plain paths."""
    return str(path) if any(sign in str(path) for sign in "%#? ") else f"file://{path}"


def local_path(location: str) -> str:
    """Return the path of a location: `file:///lake/x`, `file:/lake/x` or `/lake/x`."""
    return location if location.startswith("/") else urlparse(location).path


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
