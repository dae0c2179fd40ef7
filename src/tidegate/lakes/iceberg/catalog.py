"""The catalog of an Iceberg warehouse: by default a SQLite file in it, which pyiceberg and Spark's JDBC catalog share.

| `catalog:`            | tables are found in                                              | Spark's catalog |
| --------------------- | ---------------------------------------------------------------- | --------------- |
| nothing               | `catalog.db` in a warehouse on a local or mounted folder          | `type=jdbc`     |
| `sqlite:///file`      | this file                                                        | `type=jdbc`     |
| `postgresql://…`      | a table of this database, which many machines share              | `type=jdbc`     |
| `https://…`           | a REST catalog                                                   | `type=rest`     |

Looking needs no pyiceberg, save for REST: the catalog's row names the metadata file of a table, and that file is JSON.
So planning costs one query and one file for each table, however many snapshots it has.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from tidegate.errors import LakeError, Unsupported
from tidegate.lakes._buckets import iceberg_settings
from tidegate.lakes._columns import Field, Fitted
from tidegate.storage.bucket_settings import Pairs
from tidegate.storage.door import Storage
from tidegate.storage.local import LocalFolder
from tidegate.storage.objects import Bucket

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog
    from pyiceberg.table import Table
    from pyiceberg.transforms import Transform
    from pyiceberg.types import NestedField

NAME = "tidegate"
"""Spark's catalog must have the same name: it is part of the key of the catalog's rows."""
FILE = "catalog.db"
_LOCATION = """
SELECT metadata_location
FROM iceberg_tables
WHERE catalog_name = {} AND table_namespace = {} AND table_name = {}
"""
_SQLITE, _REST = "sqlite:///", ("http://", "https://")
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
    """Tables of one warehouse, in a folder or a bucket."""

    storage: Storage
    settings: Pairs = field(default=(), repr=False)
    """The `uri` of the catalog and further properties of its client. They may hold secrets."""

    @property
    def properties(self) -> dict[str, str]:
        """Return the properties of a new table."""
        return dict(_PROPERTIES)

    @property
    def _uri(self) -> str:
        return dict(self.settings).get("uri", "")

    @property
    def _file(self) -> Path | None:
        """Return the SQLite file of the catalog; None where it is kept by a server. Raises Unsupported."""
        if self._uri.startswith(_SQLITE):
            return Path(self._uri.removeprefix(_SQLITE))
        if self._uri:
            return None
        if isinstance(self.storage, LocalFolder):
            return self.storage.root / FILE
        raise Unsupported(
            f"The warehouse {self.storage.place} lies in a bucket, where no file can be the catalog.",
            "Nothing was opened.",
            "Name one in `lake: {catalog: …}`: `postgresql://…`, `https://…` (REST) or `sqlite:////…`.",
        )

    def require_place(self) -> None:
        """Raise Unsupported where there is no such catalog."""
        if self._uri and not self._uri.startswith((_SQLITE, "postgres:", "postgresql:", *_REST)):
            scheme = self._uri.partition(":")[0]
            raise Unsupported(
                f"The catalog of the warehouse {self.storage.place} has no known scheme: {scheme}.",
                "Nothing was opened.",
                "Known are `sqlite:///…`, `postgresql://…` and `https://…` (REST).",
            )
        _ = self._file

    def place_of(self, names: tuple[str, str]) -> str:
        """Return the place of a table as Iceberg writes it."""
        if isinstance(self.storage, LocalFolder):
            return as_location(self.storage.root / names[0] / names[1])
        return self.storage.full_path("/".join(names))

    # Looking

    def location(self, names: tuple[str, str]) -> str | None:
        """Return the metadata file of a table; None when there is no such table."""
        file = self._file
        if file is not None:
            return self._location_in_file(file, names)
        if self._uri.startswith(_REST):
            from pyiceberg.exceptions import NoSuchTableError

            with self.opened() as catalog:
                try:
                    return catalog.load_table(names).metadata_location
                except NoSuchTableError:
                    return None
        return self._location_in_database(names)

    def _location_in_file(self, file: Path, names: tuple[str, str]) -> str | None:
        if not file.exists():
            return None
        try:
            with contextlib.closing(sqlite3.connect(f"file:{_escaped(file)}?mode=ro", uri=True, timeout=30)) as opened:
                row = opened.execute(_LOCATION.format(*"???"), (NAME, *names)).fetchone()
        except sqlite3.OperationalError as problem:
            if "no such table" in str(problem):
                return None
            raise self._unusable(problem) from None
        except sqlite3.DatabaseError as problem:
            raise self._unusable(problem) from None
        return row[0] if row else None

    def _location_in_database(self, names: tuple[str, str]) -> str | None:
        import psycopg

        statement = _LOCATION.format("%s", "%s", "%s")
        try:
            with psycopg.connect(self._uri, connect_timeout=15) as opened:
                row = opened.execute(statement, (NAME, *names)).fetchone()
        except psycopg.errors.UndefinedTable:
            return None
        except psycopg.Error as problem:
            raise self._unusable(problem) from None
        return row[0] if row else None

    def metadata(self, names: tuple[str, str]) -> dict[str, Any] | None:
        """Return the metadata of a table; None when there is no such table."""
        location = self.location(names)
        try:
            return _parsed(self.storage, location) if location is not None else None
        except (OSError, ValueError) as problem:
            raise LakeError(
                f"The metadata of {'.'.join(names)} cannot be read: {problem}.",
                "The target keeps what it had.",
                f"Restore {location}, or move the table away in the catalog: then everything is extracted anew.",
            ) from None

    def path_location(self, names: tuple[str, str]) -> str | None:
        """Return the metadata file that a table of a path (Hadoop) catalog names in its folder; None without one."""
        folder = f"{names[0]}/{names[1]}/metadata"
        number = self.storage.read_text(f"{folder}/version-hint.text").strip()
        name = f"v{number}.metadata.json"
        there = number.isdigit() and name in self.storage.names(folder)
        return f"{self.place_of(names)}/metadata/{name}" if there else None

    def path_metadata(self, names: tuple[str, str]) -> dict[str, Any] | None:
        location = self.path_location(names)
        return None if location is None else _parsed(self.storage, location)

    def adopt(self, names: tuple[str, str]) -> str:
        """Register a table of a path catalog under its name. Raises LakeError where there is none to adopt."""
        location = self.path_location(names)
        if location is None or self.location(names) is not None:
            why = "is in the catalog already" if location is not None else "has no metadata/version-hint.text"
            raise LakeError(f"The table {'.'.join(names)} {why}.", "Nothing was changed.", "Check the name.")
        with self.opened() as catalog:
            ensure_namespace(catalog, names[0])
            catalog.register_table(names, location)
        return location

    def _unusable(self, problem: Exception) -> LakeError:
        place = self._file or f"of the warehouse {self.storage.place}"
        return LakeError(
            f"The catalog {place} cannot be read: {str(problem).strip().splitlines()[0].rstrip('.')}.",
            "Tables and target keep what they had.",
            "Restore it from a backup, or correct `lake: {catalog: …}`.",
        )

    # Writing

    @contextlib.contextmanager
    def opened(self) -> Iterator[PyIcebergCatalog]:
        """Open the catalog for changes. Raises Unsupported where pyiceberg is not installed."""
        try:
            import pyiceberg.catalog.sql  # noqa: F401
        except ImportError as problem:
            raise Unsupported(
                f"The lake `iceberg` needs a package that is not installed: {problem.name}.",
                "Nothing was written.",
                "Install it: `pip install 'tidegate[iceberg]'`.",
            ) from None
        catalog = self._loaded()
        try:
            yield catalog
        finally:
            catalog.close()

    def _loaded(self) -> PyIcebergCatalog:
        """Return an open catalog. Two who open a new one at once both make its tables, and its database refuses one."""
        from pyiceberg.catalog import load_catalog
        from sqlalchemy.exc import DBAPIError

        for _ in range(3):
            with contextlib.suppress(DBAPIError):
                return load_catalog(NAME, **self._client())
            time.sleep(0.05)
        return load_catalog(NAME, **self._client())

    @property
    def files(self) -> dict[str, str]:
        """Return the properties with which pyiceberg opens files of the warehouse."""
        return iceberg_settings(self.storage) if isinstance(self.storage, Bucket) else {}

    def _client(self) -> dict[str, str]:
        """Return the properties with which pyiceberg opens the catalog and its files."""
        properties = {"type": "rest" if self._uri.startswith(_REST) else "sql", **dict(self.settings)}
        file = self._file
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            properties["uri"] = f"sqlite:///{file}"
        elif properties["type"] == "sql":
            properties["uri"] = re.sub("^postgres(ql)?:", "postgresql+psycopg:", self._uri)
        if isinstance(self.storage, LocalFolder):
            self.storage.root.mkdir(parents=True, exist_ok=True)
            return {"warehouse": as_location(self.storage.root), **properties}
        if isinstance(self.storage, Bucket):
            return {"warehouse": self.storage.url, **self.files, **properties}
        return properties

    def ensure(
        self, names: tuple[str, str], fitted: Fitted, by: tuple[str, str] | None, facts: Mapping[str, str]
    ) -> None:
        """Make the table, or give it the fields that it lacks. `by` is the column that a new table is partitioned by,
        and how: `identity`, `days`, `truncate(4)`, `none`."""
        from pyiceberg.exceptions import CommitFailedException, NoSuchTableError

        with self.opened() as catalog:
            for _ in range(10):
                try:
                    self._widen(catalog.load_table(names), fitted)
                    return
                except NoSuchTableError:
                    self._create(catalog, names, fitted, by, facts)
                    return
                except (CommitFailedException, ValueError):
                    # Another task added the same field: the caller looks again.
                    return

    def _create(
        self,
        catalog: PyIcebergCatalog,
        names: tuple[str, str],
        fitted: Fitted,
        by: tuple[str, str] | None,
        facts: Mapping[str, str],
    ) -> None:
        from pyiceberg.partitioning import PartitionField, PartitionSpec
        from pyiceberg.schema import Schema
        from pyiceberg.types import NestedField

        kinds = {name: _as_type(kind) for name, kind in fitted.added.items()}
        fields = [
            NestedField(number, name, kind, required=False) for number, (name, kind) in enumerate(kinds.items(), 1)
        ]
        parts = []
        column, how = by or ("", "none")
        if how != "none" and fitted.added.get(column) in _PARTITIONED_BY:
            source = next(field for field in fields if field.name == column)
            transform, ending = _transform(names, source, how)
            parts.append(PartitionField(source.field_id, 1000, transform, f"{column}{ending}"))
        ensure_namespace(catalog, names[0])
        catalog.create_table_if_not_exists(
            names,
            Schema(*fields),
            location=self.place_of(names),
            partition_spec=PartitionSpec(*parts),
            properties={**_PROPERTIES, **facts},
        )

    def _widen(self, table: Table, fitted: Fitted) -> None:
        with table.update_schema() as update:
            for name, kind in fitted.added.items():
                update.add_column((name,), _as_type(kind))
            for name, kind in fitted.widened.items():
                update.update_column((name,), field_type=_as_type(kind))


def ensure_namespace(catalog: PyIcebergCatalog, name: str) -> None:
    """Create a namespace that is not there. Two writers may do so at once, and the catalog's database refuses one."""
    try:
        catalog.create_namespace_if_not_exists((name,))
    except Exception:  # of the catalog's own client; what it means is asked
        if not catalog.namespace_exists((name,)):
            raise


def _transform(names: tuple[str, str], field: NestedField, how: str) -> tuple[Transform[Any, Any], str]:
    """Return a transform of Iceberg, and how the name of its field ends. Raises Unsupported where the type of the
    column has no such transform."""
    from pyiceberg.transforms import parse_transform

    plural = how in ("years", "months", "days", "hours")
    spelled = how[:-1] if plural else how.replace("(", "[").replace(")", "]")
    transform: Transform[Any, Any] = parse_transform(spelled)
    if not transform.can_transform(field.field_type):
        raise Unsupported(
            f"The Iceberg table {'.'.join(names)} cannot be partitioned by {how} of {field.name} ({field.field_type}).",
            "Nothing was committed.",
            "Choose another `lake_partition`, or leave it out.",
        )
    return transform, "" if how == "identity" else f"_{spelled.partition('[')[0]}"


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
def _parsed(storage: Storage, location: str) -> dict[str, Any]:
    """Return a metadata file, which never changes once it is there. Raises OSError or ValueError."""
    metadata: dict[str, Any] = json.loads(read_text(storage, location))
    return metadata


def read_text(storage: Storage, location: str) -> str:
    """Return a text file of the warehouse by its location. Raises OSError."""
    if "://" not in location or location.startswith("file:"):
        return Path(local_path(location)).read_text()
    text = storage.read_text(inside(storage, location))
    if not text:
        raise FileNotFoundError(f"{location} is not there")
    return text


def inside(storage: Storage, location: str) -> str:
    """Return a location below the warehouse as a path in it. Raises OSError for one that lies elsewhere."""
    path = local_path(location) if isinstance(storage, LocalFolder) else re.sub("^s3[an]:", "s3:", location)
    start = f"{storage.place.rstrip('/')}/"
    if not path.startswith(start):
        raise FileNotFoundError(f"{location} is not below the warehouse {storage.place}")
    return path.removeprefix(start)


def as_location(path: Path) -> str:
    """Return a place as Iceberg writes it. Readers decode a URI differently, so odd names stay plain paths."""
    return str(path) if any(sign in str(path) for sign in "%#? ") else f"file://{path}"


def local_path(location: str) -> str:
    """Return the path of a location: `file:///lake/x`, `file:/lake/x` or `/lake/x`."""
    return location if location.startswith("/") else urlparse(location).path


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
