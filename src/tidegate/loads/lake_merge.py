"""Merge windows of changes into a table of the lake, with one row of each key: `target: lake`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from tidegate.interfaces.change import AnyChange, ChangeColumns, LoadNeeds
from tidegate.interfaces.lake import KeptTable, LakeTable
from tidegate.interfaces.load import (
    AnySettings,
    Batches,
    Incoming,
    Load,
    Loaded,
    LoadTask,
    LogRules,
    ReceiptOf,
    Requirements,
)
from tidegate.interfaces.session import Session
from tidegate.loads._kept_load import BY_CURSOR, BY_FEED, apply_kept, place_of, require_values, required_key
from tidegate.loads._kept_rows import KeptTask, KeySet, TableWriter, Wanted, selected
from tidegate.loads._window_rows import WindowRules, chosen_rows, log_rules_of
from tidegate.model.columns import TableSchema
from tidegate.model.cursors import Cursor
from tidegate.model.plan import Load as LoadStep
from tidegate.model.state import TableState
from tidegate.model.tokens import CursorWindow, FeedWindow
from tidegate.settings import Settings
from tidegate.tables.found import Catalogs, FoundTable

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Mask


class LakeMergeSettings(Settings):
    """How windows of changes are merged into a table of the lake."""

    deletes: Literal["ignore", "key_compare"] = "ignore"
    """What happens to rows that left the source: nothing, or they are deleted. Then every run reads all keys of the
    source and compares them."""
    duplicates: Literal["latest", "refuse"] = "latest"
    """Of several rows of a key in one window the newest counts (`latest`), or the load is refused (`refuse`)."""


class LakeMergeFeedSettings(Settings):
    """How the changes of a change feed are merged into a table of the lake."""

    deletes: Literal["feed", "ignore"] = "feed"
    """What happens to rows that were deleted in the source: they are deleted (`feed`), or they stay (`ignore`)."""


@dataclass(frozen=True, kw_only=True)
class MergeTask(KeptTask):
    """A window of changes of a table with one row of each key."""

    rules: WindowRules
    deletes: bool
    """Rows leave whose key the source no longer has."""


@dataclass(frozen=True)
class LakeMerge(Load):
    """The load of one table that is kept in the lake, with one row of each key."""

    name = "lake_merge"
    Settings = LakeMergeSettings
    changes = (*BY_CURSOR, *BY_FEED)

    keys: tuple[str, ...]
    rules: WindowRules
    place: LakeTable

    @classmethod
    def settings_for(cls, change: type[AnyChange]) -> type[AnySettings]:
        return LakeMergeFeedSettings if change.reads_feed else LakeMergeSettings

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        return Requirements(source, keys=required_key(settings, source), deletes=settings.deletes != "ignore")

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        place, table = place_of(settings, table)
        rules = WindowRules(
            cursor=change.cursor or Cursor((), is_extracted=False),
            tie_breaker=change.tie_breaker.name if change.tie_breaker is not None else None,
            duplicates="latest" if change.feed else settings.duplicates,
            late="merge",
            compares_keys=settings.deletes == "key_compare",
            tells_deletes=settings.deletes == "feed",
        )
        return cls(required.keys, rules, place), table

    @property
    def check(self) -> str:
        return "lake_content"

    @property
    def needs(self) -> LoadNeeds:
        compares = self.rules.compares_keys or self.rules.tells_deletes
        return LoadNeeds(keys=self.keys, deletes=compares, all_keys=compares)

    @property
    def log_rules(self) -> LogRules:
        return log_rules_of(self.keys, self.rules)

    def task(self, task: LoadTask, step: LoadStep, state: TableState, loads: int) -> LoadTask:
        is_given = isinstance(task.entry.token, CursorWindow) and task.entry.token.is_given
        deletes = self.rules.tells_deletes or (self.rules.compares_keys and step.is_newest and not is_given)
        return MergeTask(**vars(task), keys=self.keys, place=self.place, rules=self.rules, deletes=deletes)

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        return apply_kept(session, incoming, _keep)


def _keep(incoming: Incoming, task: MergeTask, writer: TableWriter, kept: KeptTable, opened: ExitStack) -> Wanted:
    """Return the newest row of each key, and which keys are to leave."""
    require_values(task, task.keys, incoming.batches)
    chosen = chosen_rows(task, task.rules, task.keys, incoming.batches)
    rows: Batches = partial(_chosen, incoming.batches, chosen)
    keys = KeySet.of(rows(), task.keys)
    if not task.deletes:
        return Wanted(rows, keys)
    if isinstance(task.entry.token, FeedWindow) and task.entry.token.whole:
        return Wanted(rows, keys, only=keys)
    assert incoming.keys is not None, "a window that tells deletes comes with keys"
    told = KeySet.of(incoming.keys(), task.keys)
    return Wanted(rows, keys.with_keys(told)) if task.rules.tells_deletes else Wanted(rows, keys, only=told)


def _chosen(batches: Batches, mask: Mask) -> Iterator[pa.RecordBatch]:
    return batches() if mask.all() else selected(batches(), mask)
