"""Keep the versions of rows in a table of the lake (SCD type 2): `target: lake` with `load: scd2`.

A version starts at the value of the cursor and ends where the next one starts. Each load makes the timelines of its
keys anew, so a late row comes in its place in time, and a repeated row changes nothing.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tidegate.buckets.assign import buckets_for, in_buckets
from tidegate.buckets.spill import Spill
from tidegate.errors import DriftStop, Unsupported
from tidegate.interfaces.change import ChangeColumns, LoadNeeds
from tidegate.interfaces.lake import KeptTable, LakeTable
from tidegate.interfaces.load import Incoming, Load, Loaded, LoadTask, ReceiptOf, Requirements
from tidegate.interfaces.session import Session
from tidegate.loads._kept_load import BY_CURSOR, apply_kept, place_of, require_values, required_key
from tidegate.loads._kept_rows import KeptTask, KeySet, TableWriter, Wanted, as_array, hashes_of
from tidegate.model.columns import Column, TableSchema
from tidegate.model.plan import Load as LoadStep
from tidegate.model.state import TableState
from tidegate.model.tokens import IncrementalWindow
from tidegate.model.types import Type
from tidegate.settings import Settings, Text
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.loads._kept_timeline import Timeline

_TIMES = ("timestamp", "timestamptz", "date")


class LakeScd2Settings(Settings):
    """A table of the lake with the versions of each row."""

    start_column: Text = "start_date"
    """The column for the start of a version: the cursor's value."""
    end_column: Text = "end_date"
    """The column for the end of a version, which is the start of the next."""
    flag_column: Text = "is_current"
    """The column that tells which version is current."""
    deletes: Literal["ignore", "close"] = "ignore"
    """What becomes of rows that left the source: nothing, or their version ends. Then all keys of the source are read
    in every run, and compared."""


@dataclass(frozen=True, kw_only=True)
class VersionsTask(KeptTask):
    """A window of a table of versions."""

    cursor: str
    closes: bool


@dataclass(frozen=True)
class LakeScd2(Load):
    """The load of one table that is kept in the lake, with the versions of each row."""

    name = "lake_scd2"
    Settings = LakeScd2Settings
    takes_transform = False
    changes = BY_CURSOR

    keys: tuple[str, ...]
    place: LakeTable
    cursor: str
    added: tuple[Column, ...]
    """Start, end and flag."""
    closes: bool

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        if change.by is None:
            raise Unsupported(
                f"{settings.name}: versions in the lake start at the value of one column, and the cursor is none.",
                UNTOUCHED,
                "Use `changes: timestamp` with one `timestamp_column`.",
            )
        _require_moments(settings, change.by)
        return Requirements(source, keys=required_key(settings, source), deletes=False)

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        assert change.by is not None
        place, table = place_of(settings, table)
        added = _added(settings, change.by)
        taken = [column.name for column in added if column.name in table.storage_types]
        if taken:
            raise DriftStop(
                f"{settings.name}: the source has {', '.join(taken)}, which versions are made with.",
                UNTOUCHED,
                "Name other columns as `start_column`, `end_column` and `flag_column`.",
            )
        return cls(required.keys, place, change.by.name, added, settings.deletes == "close"), table

    @property
    def check(self) -> str:
        return "lake_versions"

    @property
    def needs(self) -> LoadNeeds:
        return LoadNeeds(keys=self.keys, deletes=self.closes, all_keys=self.closes)

    @property
    def flag(self) -> str:
        return self.added[-1].name

    def task(self, task: LoadTask, step: LoadStep, state: TableState, loads: int) -> LoadTask:
        token = task.entry.token
        is_given = isinstance(token, IncrementalWindow) and token.is_given
        return VersionsTask(
            **vars(task),
            keys=self.keys,
            place=self.place,
            added=self.added,
            cursor=self.cursor,
            closes=self.closes and step.is_newest and not is_given,
        )

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        return apply_kept(session, incoming, _keep)


def _require_moments(settings: Any, cursor: Column) -> None:
    if settings.deletes == "close" and cursor.storage_type not in _TIMES:
        raise Unsupported(
            f"{settings.name}: {cursor.name} is {cursor.type}, so there is no value at which a version could end.",
            UNTOUCHED,
            "Use `deletes: ignore`, or a cursor of a date or timestamp type.",
        )


def _added(settings: Any, cursor: Column) -> tuple[Column, Column, Column]:
    start = replace(cursor, name=settings.start_column, identity=False, generated=False, has_default=False)
    truth = Type("bool")
    flag = Column(settings.flag_column, str(truth), truth.storage_type, logical_type=truth)
    return start, replace(start, name=settings.end_column, nullable=True), flag


def _timeline(task: VersionsTask) -> Timeline:
    from tidegate.loads._kept_timeline import Timeline

    names = [column.name for column in task.request.columns]
    start, end, flag = (column.name for column in task.added)
    content = tuple(name for name in names if name not in (*task.keys, task.cursor))
    return Timeline(task.keys, content, task.cursor, start, end, flag)


def _keep(incoming: Incoming, task: VersionsTask, writer: TableWriter, kept: KeptTable, opened: ExitStack) -> Wanted:
    """Return all versions of the keys that came, and of those that left."""
    require_values(task, (*task.keys, task.cursor), incoming.batches)
    timeline, keys = _timeline(task), KeySet.of(incoming.batches(), task.keys)
    gone, moment = _gone(incoming, task, writer, kept), None
    if len(gone.hashes):
        keys, moment = keys.with_keys(gone), _moment(task)
    rows, versions = opened.enter_context(Spill()), opened.enter_context(Spill())
    buckets = buckets_for(kept.rows + task.entry.rows, versions=True)

    def tables() -> Any:
        for batch in writer.existing(kept, keys):
            hashes = hashes_of(iter([batch]), task.keys)
            yield timeline.there(batch, gone.holds(as_array(hashes)), moment), hashes
        for batch in incoming.batches():
            yield timeline.as_versions(batch, task.schema), hashes_of(iter([batch]), task.keys)

    for bucket, block in in_buckets(tables(), buckets):
        rows.add(bucket, 0, block)
    for bucket in rows.buckets():
        _resolve(timeline, rows, versions, bucket)
    return Wanted(partial(versions.blocks, 0), keys)


def _resolve(timeline: Timeline, rows: Spill, versions: Spill, bucket: int) -> None:
    import pyarrow as pa

    resolved = timeline.resolved(pa.Table.from_batches(list(rows.blocks(0, bucket))))
    for batch in resolved.combine_chunks().to_batches():
        versions.add(0, 0, batch)


def _gone(incoming: Incoming, task: VersionsTask, writer: TableWriter, kept: KeptTable) -> KeySet:
    """Return keys with an open version that the source no longer had when the window was read."""
    import numpy as np
    import pyarrow as pa

    found = [np.zeros((0, 2), np.uint64)]
    if task.closes and incoming.keys is not None:
        there = KeySet.of(incoming.keys(), task.keys)
        for batch in writer.open_rows(kept, task.added[-1].name):
            hashes = hashes_of(iter([batch]), task.keys)
            found.append(hashes[~there.holds(as_array(hashes))])
    return KeySet(as_array(np.concatenate(found)).unique() if len(found) > 1 else pa.array([], pa.binary(16)))


def _moment(task: VersionsTask) -> pa.Scalar:
    """Return when the window was read, on the cursor's clock."""
    from tidegate.history.cursors import parse_cursor, parse_read_at

    token = task.entry.token
    start = task.schema.field(task.added[0].name).type
    if isinstance(token, IncrementalWindow) and token.keys_read_at is not None:
        return parse_cursor(token.keys_read_at.text, start)
    return parse_read_at(token.read_at if isinstance(token, IncrementalWindow) else "").cast(start)
