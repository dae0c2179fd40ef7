"""Read what the lake holds of a table: its rows of now or then as DataFrames, what changed, and its history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.errors import ConfigError
from tidegate.frames.lake import LakeSource, entries_frame, state_frame
from tidegate.interfaces.lake import Layout
from tidegate.model.lake_versions import LakeHealth, LakeVersion, version_at
from tidegate.model.state import LakeEntry
from tidegate.model.values import Value
from tidegate.runs.plan import planning
from tidegate.runs.run import Pipeline
from tidegate.tables.planned import FailedTable, PlannedTable, SyncTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class LakeReads:
    """The lake of a project, table by table. Tables go by their keys in the configuration."""

    pipeline: Pipeline
    spark: Callable[[], SparkSession]
    """Returns the session that makes DataFrames. Spark starts when it is called."""

    def table(self, key: str) -> SyncTable:
        return self._inspected(key).require_table()

    def places(self, key: str) -> dict[Value, str]:
        """Return the file or folder of each window, in their order."""
        entries = self._inspected(key).require_state().lake
        return {window: self.pipeline.lake.location(entry.id) for window, entry in sorted(entries.items())}

    def history(self, key: str, *, of_target: bool = False) -> list[LakeVersion]:
        """Return the versions of a table, oldest first; `of_target` those of its target in the lake."""
        table = self.table(key)
        kept = table.found.kept if of_target else None
        return self.pipeline.lake.history(kept or table.lake_table)

    def health(self, key: str) -> LakeHealth:
        return self.pipeline.lake.health(self.table(key).lake_table)

    def version(self, key: str, wanted: object) -> LakeVersion:
        """Return the version of a table at a time, or the one with this name. Raises ConfigError."""
        return _version_of(key, self.history(key), wanted)

    def dataframe(self, key: str, as_of: object = None, since: object = None, *, raw: bool = False) -> DataFrame:
        """Return the rows of a table as of a time or a version, without those that it had `since` another.

        A log gives the state of the table, unless its `raw` rows are asked for."""
        inspected, lake = self._inspected(key), self.pipeline.lake
        table = inspected.require_table()
        kept = None if raw else table.found.kept
        lake_table = kept or table.lake_table
        versions = lake.history(lake_table) if as_of is not None or since is not None else []
        until, after = (None if one is None else _version_of(key, versions, one).id for one in (as_of, since))
        spark, columns = self.spark(), table.found.extracted_columns
        if kept is not None or after is not None:
            return lake.dataframe_at(spark, lake_table, until, after)
        entries = _entries_now(inspected) if until is None else lake.entries_at(lake_table, until)
        if raw and table.raw_lake_table is not None:
            lake_table, entries = table.raw_lake_table, lake.entries(table.raw_lake_table, {}).by_window
        source = LakeSource(lake, lake_table, [entry for _, entry in sorted(entries.items())], columns)
        if lake_table.layout is Layout.LOG and not raw:
            return state_frame(spark, source, table.load.log_rules)
        if until is None and lake.spark_reads and source.is_plain:
            return lake.dataframe(spark, lake_table)
        return entries_frame(spark, source)

    def changes(self, key: str, since: object, until: object = None) -> DataFrame:
        """Return rows that came or left between two times or versions, the second now by default."""
        lake, lake_table = self.pipeline.lake, self.table(key).lake_table
        versions = lake.history(lake_table)
        first = _version_of(key, versions, since)
        last = versions[-1] if until is None else _version_of(key, versions, until)
        return lake.changes_between(self.spark(), lake_table, first.id, last.id)

    def _inspected(self, key: str) -> PlannedTable | FailedTable:
        with planning(self.pipeline) as planner:
            return planner.plan([key])[0]


def _entries_now(inspected: PlannedTable | FailedTable) -> Mapping[str, LakeEntry]:
    """Return the entries of a table by window; none where the table could not be inspected."""
    entries = {} if inspected.state is None else inspected.state.lake
    return {window.text: entry for window, entry in entries.items()}


def _version_of(key: str, versions: list[LakeVersion], wanted: object) -> LakeVersion:
    try:
        found = version_at(versions, wanted)
    except ValueError:
        found = None
    if found is None:
        first = f"it begins at {versions[0].at}" if versions else "there is none"
        raise ConfigError(
            f"{key}: the lake has no version at {wanted}; {first}.",
            "Nothing was read.",
            f"`tidegate lake history {key}` lists times and versions.",
        )
    return found
