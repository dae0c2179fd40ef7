"""Versions of a Delta table, through delta-rs: how one is committed, and what a table looks like."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import Unsupported
from tidegate.lakes._buckets import delta_settings
from tidegate.lakes._columns import Field
from tidegate.lakes._landing import Conflict, Landing
from tidegate.lakes.delta.log import FOLDER, Place
from tidegate.storage.local import LocalFolder
from tidegate.storage.objects import Bucket

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

# History is what entries are found by, so the log is shortened by `tidegate lake clean` alone.
_CONFIGURATION = {"delta.logRetentionDuration": "interval 36500 days", "delta.enableExpiredLogCleanup": "false"}
_OF_DELTA = {"integer": "int", "short": "int", "byte": "int", "timestamp": "timestamptz", "timestamp_ntz": "timestamp"}
_TO_DELTA = {"int": "integer", "timestamptz": "timestamp", "timestamp": "timestamp_ntz"}
_LONGEST_BOUND = 32


def opened(place: Place, version: str | None) -> DeltaTable | None:
    """Return a table at a version, else as it is now; None when there is no such table."""
    try:
        from deltalake import DeltaTable
    except ImportError as problem:
        raise Unsupported(
            f"The lake `delta` needs a package that is not installed: {problem.name}.",
            "Nothing was written.",
            "Install it: `pip install 'tidegate[delta]'`.",
        ) from None
    if not place.storage.names(f"{place.folder}/{FOLDER}"):
        return None
    number = int(version) if version is not None else None
    return DeltaTable(place.uri, version=number, storage_options=_options(place))


def _options(place: Place) -> dict[str, str] | None:
    return delta_settings(place.storage) if isinstance(place.storage, Bucket) else None


def fields_of(table: DeltaTable) -> dict[str, Field]:
    """Return the fields of a table."""
    return {field.name: Field(_spelled(json.loads(field.type.to_json()))) for field in table.schema().fields}


def _spelled(kind: object) -> str:
    text = str(kind)
    return text.replace(",", ", ") if text.startswith("decimal") else _OF_DELTA.get(text, text)


def add_fields(place: Place, added: Mapping[str, str], facts: Mapping[str, Any]) -> None:
    """Make a table of these fields, or give it those that it lacks. Whoever comes second changes nothing."""
    from deltalake import DeltaTable, Schema
    from deltalake.exceptions import DeltaError
    from deltalake.schema import Field as DeltaField

    # The same JSON as in the log.
    told = {"type": "struct", "fields": [_as_json(name, kind) for name, kind in added.items()]}
    schema = Schema.from_json(json.dumps(told))
    table = opened(place, None)
    try:
        if table is None:
            if isinstance(place.storage, LocalFolder):
                Path(place.uri).mkdir(parents=True, exist_ok=True)
            DeltaTable.create(
                place.uri,
                schema,
                mode="error",
                configuration=_CONFIGURATION,
                commit_properties=_told(facts),
                storage_options=_options(place),
            )
        else:
            fields: list[DeltaField] = list(schema.fields)
            table.alter.add_columns(fields, commit_properties=_told(facts))
    except DeltaError:
        # Another task was faster: the caller looks again.
        return


def note(place: Place, properties: Mapping[str, str], facts: Mapping[str, Any]) -> None:
    """Set properties of a table, with facts, and write a checkpoint: other readers then open few files of the log.

    Raises Conflict where somebody else was faster."""
    from deltalake.exceptions import CommitFailedError

    table = opened(place, None)
    if table is None:
        raise Conflict
    try:
        table.alter.set_table_properties(dict(properties), raise_if_not_exists=False, commit_properties=_told(facts))
    except CommitFailedError:
        raise Conflict from None
    table.create_checkpoint()


def _as_json(name: str, kind: str) -> dict[str, Any]:
    spelled = kind.replace(", ", ",") if kind.startswith("decimal") else _TO_DELTA.get(kind, kind)
    return {"name": name, "type": spelled, "nullable": True, "metadata": {}}


def _told(facts: Mapping[str, Any]) -> CommitProperties:
    from deltalake import CommitProperties

    return CommitProperties(custom_metadata=_user_metadata(facts), max_commit_retries=0)


def _user_metadata(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"userMetadata": json.dumps({"tidegate": dict(facts)})}


def land(place: Place, app: str, seen: str, landing: Landing) -> None:
    """Commit on top of the version that was seen. Raises Conflict where the table stands elsewhere."""
    from deltalake import CommitProperties, Transaction
    from deltalake.exceptions import CommitFailedError
    from deltalake.transaction import RemoveAction

    table = opened(place, None)
    if table is None or str(table.version()) != seen:
        raise Conflict
    now = int(time.time() * 1000)
    present = sizes(table)
    leaving = set(present) if landing.removes_all else {name for name in present if Path(name).name in landing.remove}
    changes = not landing.keeps_rows
    adds = [_add(place, name, changes) for name in landing.add]
    removes = [RemoveAction(name, changes, now, present[name], {}) for name in sorted(leaving)]
    following = (table.transaction_version(app) or 0) + 1
    properties = CommitProperties(
        custom_metadata=_user_metadata(landing.facts),
        app_transactions=[Transaction(app, following)],
        max_commit_retries=0,
    )
    try:
        table.create_write_transaction([*adds, *removes], "append", table.schema(), [], commit_properties=properties)
    except CommitFailedError:
        raise Conflict from None


def sizes(table: DeltaTable) -> dict[str, int]:
    """Return the files of a table, each with its size."""
    import pyarrow as pa

    actions = pa.table(table.get_add_actions(flatten=True))
    return dict(zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True))


def _add(place: Place, name: str, changes: bool) -> AddAction:
    """Return the action that adds a file, with the bounds by which readers skip it."""
    import pyarrow.parquet as pq
    from deltalake.transaction import AddAction

    path = f"{place.folder}/data/{name}"
    with place.storage.input(path) as file:
        metadata = pq.read_metadata(file)
    stats = {"numRecords": metadata.num_rows, **_bounds(metadata)}
    size, modified = place.storage.size(path), int(time.time() * 1000)
    return AddAction(f"data/{name}", size, {}, modified, changes, json.dumps(stats))


def _bounds(metadata: Any) -> dict[str, dict[str, Any]]:
    """Return smallest and greatest values and counts of nulls, as far as the footer tells them exactly. Numbers of
    whole columns and short texts only: other types are written in ways on which readers differ."""
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for place in range(metadata.num_columns):
        columns = [metadata.row_group(group).column(place) for group in range(metadata.num_row_groups)]
        known = [column.statistics for column in columns if column.is_stats_set]
        if not columns or len(known) != len(columns):
            continue
        name = columns[0].path_in_schema
        nulls[name] = sum(statistics.null_count or 0 for statistics in known)
        bounded = [statistics for statistics in known if statistics.has_min_max]
        if len(bounded) == len(known) and all(_is_plain(one.min) and _is_plain(one.max) for one in bounded):
            low[name] = min(statistics.min for statistics in bounded)
            high[name] = max(statistics.max for statistics in bounded)
    return {"minValues": low, "maxValues": high, "nullCount": nulls}


def _is_plain(value: object) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number or (isinstance(value, str) and len(value) <= _LONGEST_BOUND)
