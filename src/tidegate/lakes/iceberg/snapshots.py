"""Snapshots of an Iceberg table, through pyiceberg: how one is committed, and which files it has.

Facts that shape this file
 * pyiceberg repeats a refused commit by itself, and lands a run twice: so its repetition is off, for this handle only.
 * `parquet_file_to_data_file` reads the footer: counts, bounds, and the partition value, of which a file has one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from tidegate.errors import LakeError
from tidegate.lakes._commits import PREFIX, as_properties
from tidegate.lakes._landing import Conflict, Landing
from tidegate.lakes.iceberg.catalog import inside
from tidegate.storage.door import Storage

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestEntryStatus
    from pyiceberg.table import Table

LAST = f"{PREFIX}last"
"""The property that names the newest commit of ours: some catalogs show no history."""
_ONCE = {"commit.retry.num-retries": "0"}


def land(table: Table, seen: str | None, landing: Landing, properties: Mapping[str, str]) -> None:
    """Commit on top of the snapshot that was seen. Raises Conflict where the table stands elsewhere."""
    from pyiceberg.exceptions import CommitFailedException, ValidationException

    current = table.metadata.current_snapshot_id
    if (str(current) if current is not None else None) != seen:
        raise Conflict
    own = {**table.metadata.properties, **_ONCE}
    table.metadata = table.metadata.model_copy(update={"properties": own})
    added = [_data_file(table, name) for name in landing.add]
    leaving = list(_leaving(table, landing, added))
    try:
        with table.transaction() as transaction:
            update = transaction.update_snapshot(snapshot_properties=as_properties(landing.facts))
            with update.overwrite() if leaving else update.merge_append() as snapshot:
                for file in leaving:
                    snapshot.delete_data_file(file)
                for file in added:
                    snapshot.append_data_file(file)
            last = f"{landing.facts.get('run', '')}@{snapshot.snapshot_id}"
            transaction.set_properties({**properties, LAST: last})
    except (CommitFailedException, ValidationException):
        raise Conflict from None


def _data_file(table: Table, name: str) -> DataFile:
    from pyiceberg.io.pyarrow import parquet_file_to_data_file

    path = f"{table.location()}/data/{name}"
    try:
        return parquet_file_to_data_file(table.io, table.metadata, path)
    except ValueError as problem:
        if "more than one partition value" not in str(problem):
            raise
        raise LakeError(
            f"{name} holds more than one value of the partition column: the source takes different spellings for one.",
            "Nothing was committed.",
            "Use the lake `parquet` for this table, or another partition column.",
        ) from None


def _leaving(table: Table, landing: Landing, added: list[DataFile]) -> Iterator[DataFile]:
    """Yield the files of the table that the commit replaces: by name, and of a partition whatever lies in it."""
    if table.metadata.current_snapshot_id is None:
        return
    is_by_value = all(str(field.transform) == "identity" for field in table.spec().fields)
    partitions = {file.partition for file in added if len(file.partition)}
    if landing.keeps_rows or not is_by_value:
        partitions = set()
    if not (landing.remove or landing.removes_all or partitions):
        return
    for task in table.scan().plan_files():
        name = task.file.file_path.rpartition("/")[2]
        if landing.removes_all or name in landing.remove or task.file.partition in partitions:
            yield task.file


def all_files(table: Table) -> set[str]:
    """Return the names of all files that any snapshot of the table has."""
    return {
        entry.data_file.file_path.rpartition("/")[2]
        for snapshot in table.metadata.snapshots
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    }


def small_files(table: Table, below: int) -> list[list[tuple[str, int]]]:
    """Return the small files of the table with their sizes, those of one partition together."""
    found: dict[str, list[tuple[str, int]]] = {}
    for task in table.scan().plan_files():
        if task.file.file_size_in_bytes < below and not task.delete_files:
            one = (task.file.file_path, task.file.file_size_in_bytes)
            found.setdefault(repr(task.file.partition), []).append(one)
    return list(found.values())


def files_of(table: Table, leaving: Collection[str]) -> set[str]:
    """Return the names of the files that the table has in any of its snapshots but these."""
    return {
        entry.data_file.file_path.rpartition("/")[2]
        for snapshot in table.metadata.snapshots
        if str(snapshot.snapshot_id) not in leaving
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    }


def expire(table: Table, leaving: Collection[str], properties: Mapping[str, str]) -> None:
    """Take snapshots out of the metadata, in one commit with what is kept of them, and then delete their manifests.
    Heads of branches and tags stay. Raises Conflict where somebody else was faster."""
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table.update.snapshot import ExpireSnapshots

    protected = {reference.snapshot_id for reference in table.metadata.refs.values()}
    gone = [one for one in table.metadata.snapshots if str(one.snapshot_id) in leaving]
    gone = [one for one in gone if one.snapshot_id not in protected]
    lists = {one.manifest_list for one in gone}
    manifests = {manifest.manifest_path for one in gone for manifest in one.manifests(table.io)}
    try:
        with table.transaction() as transaction:
            transaction.set_properties(dict(properties))
            with ExpireSnapshots(transaction) as update:
                update.by_ids([one.snapshot_id for one in gone])
    except CommitFailedException:
        raise Conflict from None
    rest = {manifest.manifest_path for one in table.metadata.snapshots for manifest in one.manifests(table.io)}
    for place in (lists | manifests) - rest:
        with contextlib.suppress(OSError):
            table.io.delete(place)


def taken_files(table: Table, version: int) -> set[str]:
    """Return the names of the files that left the table with this snapshot."""
    from pyiceberg.manifest import ManifestEntryStatus

    return _entries(table, version, ManifestEntryStatus.DELETED)


def brought_files(table: Table, version: int) -> set[str]:
    """Return the names of the files that came with this snapshot."""
    from pyiceberg.manifest import ManifestEntryStatus

    return _entries(table, version, ManifestEntryStatus.ADDED)


def _entries(table: Table, version: int, status: ManifestEntryStatus) -> set[str]:
    snapshot = table.snapshot_by_id(version)
    if snapshot is None:
        return set()
    return {
        entry.data_file.file_path.rpartition("/")[2]
        for manifest in snapshot.manifests(table.io)
        if manifest.added_snapshot_id == version
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
        if entry.status == status
    }


def files_at(storage: Storage, table: Table, version: int | None) -> list[str]:
    """Return the files of the table at a snapshot, by their paths in the warehouse.

    Raises LakeError where readers must apply deletes."""
    if table.metadata.current_snapshot_id is None:
        return []
    tasks = list(table.scan(snapshot_id=version).plan_files())
    if any(task.delete_files for task in tasks):
        raise LakeError(
            f"Somebody deleted rows of {'.'.join(table.name())} without rewriting its files.",
            "Nothing was changed.",
            "Read it through Spark's Iceberg catalog, or compact it there: `CALL system.rewrite_data_files`.",
        )
    return [inside(storage, task.file.file_path) for task in tasks]
