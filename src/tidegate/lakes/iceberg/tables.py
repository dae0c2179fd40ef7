"""One table of an Iceberg warehouse, by its name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError
from tidegate.interfaces.open_table import OpenTable
from tidegate.lakes._commits import history_of
from tidegate.lakes._resting import resting_type
from tidegate.lakes.iceberg.catalog import Catalog, ensure_namespace
from tidegate.lakes.iceberg.commits import commits_of
from tidegate.model.lake_versions import LakeVersion

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table

_KEEPS_ROWS = ("append", "replace")


@dataclass(frozen=True)
class IcebergTable(OpenTable):
    """One table of a warehouse. `mirror` is called after each commit."""

    catalog: Catalog
    names: tuple[str, str]
    mirror: Callable[[tuple[str, str]], None]

    @property
    def exists(self) -> bool:
        return self._known() is not None

    def _known(self) -> dict[str, Any] | None:
        """Return the metadata that the catalog names; for a table that it does not know, that of its folder."""
        return self.catalog.metadata(self.names) or self.catalog.path_metadata(self.names)

    def versions(self) -> list[LakeVersion]:
        metadata = self._known()
        return history_of(commits_of(metadata)) if metadata is not None else []

    def next_version(self) -> int:
        location = self.catalog.location(self.names) or ""
        number = location.rpartition("/")[2].partition("-")[0]
        return int(number) + 2 if number.isdigit() else 1

    def metadata(self) -> dict[str, Any]:
        metadata = self._known()
        if metadata is None:
            raise LakeError(
                f"The warehouse {self.catalog.storage.place} has no table {'.'.join(self.names)}.",
                "Nothing was read.",
                "Run a sync first, or correct the name.",
            )
        return metadata

    def rows(
        self,
        version: str | None = None,
        columns: Sequence[str] | None = None,
        where: str = "",
        after: str | None = None,
    ) -> Iterator[pa.RecordBatch]:
        from pyiceberg.expressions import AlwaysTrue

        self.metadata()
        selected = tuple(columns) if columns is not None else ("*",)
        with self._read() as table:
            if table.metadata.current_snapshot_id is None:
                return
            if version is not None:
                self._require_version(version)
            condition = where or AlwaysTrue()
            if after is None:
                scan: Any = table.scan(condition, selected, snapshot_id=int(version) if version is not None else None)
            else:
                until = self._require_appends(after, version)
                scan = table.incremental_append_scan(
                    from_snapshot_id_exclusive=int(after),
                    to_snapshot_id_inclusive=int(until),
                    row_filter=condition,
                    selected_fields=selected,
                )
            yield from scan.to_arrow_batch_reader()

    def _require_version(self, version: str) -> None:
        if version not in {str(snapshot["snapshot-id"]) for snapshot in self.metadata().get("snapshots", ())}:
            raise LakeError(
                f"{'.'.join(self.names)} has no snapshot {version}.",
                "Nothing was read.",
                "It was expired, or it belongs to another table: `tidegate lake history` lists what is there.",
            )

    def _require_appends(self, after: str, version: str | None) -> str:
        """Return the state to read to. Raises LakeError where rows were changed on the way: such snapshots would be
        skipped without a word."""
        versions = self.versions()
        ids = [one.id for one in versions]
        until = version or ids[-1]
        if after not in ids or until not in ids:
            raise LakeError(
                f"{'.'.join(self.names)}: the history from {after} to {until} is not all there.",
                "Nothing was read.",
                "Read the whole table, or a snapshot that `tidegate lake history` lists.",
            )
        changed = [
            one.id for one in versions[ids.index(after) + 1 : ids.index(until) + 1] if one.operation not in _KEEPS_ROWS
        ]
        if changed:
            raise LakeError(
                f"{'.'.join(self.names)}: rows were also changed or removed, in snapshot {changed[0]}.",
                "Nothing was read.",
                "Read both snapshots whole and compare them.",
            )
        return until

    def create(self, schema: pa.Schema) -> None:
        import pyarrow as pa

        self._require_own()
        resting = pa.schema([pa.field(field.name, resting_type(field)) for field in schema])
        location = self.catalog.place_of(self.names)
        with self.catalog.opened() as catalog:
            ensure_namespace(catalog, self.names[0])
            catalog.create_table_if_not_exists(
                self.names, resting, location=location, properties=self.catalog.properties
            )
        self.mirror(self.names)

    def append(self, rows: pa.Table) -> LakeVersion:
        import pyarrow as pa

        self.create(rows.schema)
        with self._opened() as table:
            resting = pa.schema([pa.field(field.name, resting_type(field)) for field in rows.schema])
            try:
                table.append(rows.cast(resting))
            except ValueError as problem:
                raise LakeError(
                    f"The rows do not fit the columns of {'.'.join(self.names)}: {str(problem).splitlines()[0]}",
                    "Nothing was committed.",
                    "Give them the columns and types of the table.",
                ) from None
        self.mirror(self.names)
        return self.versions()[-1]

    def properties(self) -> dict[str, str]:
        return dict(self.metadata().get("properties", {}))

    def adopt(self) -> str:
        place = self.catalog.adopt(self.names)
        self.mirror(self.names)
        return place

    def set_properties(self, values: Mapping[str, str]) -> None:
        self.metadata()
        self._require_own()
        with self._opened() as table, table.transaction() as transaction:
            transaction.set_properties(dict(values))
        self.mirror(self.names)

    @contextlib.contextmanager
    def _read(self) -> Iterator[Table]:
        """Open the table for reading: by the catalog, or by its folder."""
        if self.catalog.location(self.names) is not None:
            with self._opened() as table:
                yield table
            return
        from pyiceberg.table import StaticTable

        yield StaticTable.from_metadata(self.catalog.path_location(self.names) or "", self.catalog.files)

    def _require_own(self) -> None:
        if self.catalog.location(self.names) is None and self.catalog.path_location(self.names) is not None:
            raise LakeError(
                f"The table {'.'.join(self.names)} belongs to a path catalog, which cannot be written safely.",
                "Nothing was committed.",
                f"Take it over with `tidegate lake adopt {'.'.join(self.names)}`; from then on write it here alone.",
            )

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Table]:
        with self.catalog.opened() as catalog:
            yield catalog.load_table(self.names)
