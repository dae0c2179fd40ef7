"""The methods about native partitions of the pipeline class. "SQL Server partitions" means those of any target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.api import TableSync, Tidegate
from tidegate.facades.pipeline.analysis import Issues
from tidegate.facades.pipeline.logs import LOGGER
from tidegate.facades.pipeline.tables import tables_of
from tidegate.model.analysis import native
from tidegate.model.names import TableName
from tidegate.model.native import PartitionLayout
from tidegate.model.report import RunReport
from tidegate.model.values import Value


class PartitionSwitching(ABC):
    """Detection, staging, switching and validation of native partitions of the target."""

    _tables: dict[str, dict[str, Any]]

    @abstractmethod
    def _project(self, tables: Mapping[str, Mapping[str, Any]], **settings: Any) -> Tidegate: ...

    @abstractmethod
    def _report(self, report: RunReport) -> dict[str, Any]: ...

    # Looking

    def detect_sql_server_partitions(self, table_name: str, schema: str = "dbo") -> dict[str, Any]:
        """Return how the target partitions the table, with one entry for each partition."""
        layout = self._partitioned(table_name, schema).partitions.layout()
        if layout is None:
            return {"is_partitioned": False, "partitions": []}
        return {
            "is_partitioned": True,
            "method": layout.method,
            "range": ("RIGHT" if layout.low_included else "LEFT") if layout.method == "range" else None,
            "partition_column": layout.column or None,
            "partition_function": layout.function or None,
            "partition_scheme": layout.scheme or None,
            "boundary_values": _boundaries(layout),
            "problem": layout.problem or None,
            "partitions": [
                {
                    "partition_number": partition.number,
                    "name": partition.name,
                    "range": layout.range_of(partition),
                    "rows": partition.rows,
                    "filegroup": partition.place or None,
                    "compression": partition.compression or None,
                }
                for partition in layout.partitions
            ],
        }

    def get_partition_number(self, table_name: str, partition_value: object, schema: str = "dbo") -> int | None:
        """Return the number of the partition that takes a value; None when none does."""
        return self._partitioned(table_name, schema).partitions.number_of(partition_value)

    def determine_load_strategy(self, table_name: str, partition_value: object, table_config: Mapping[str, Any]) -> str:
        """Return `switch` or `direct`, as a run would load the value now. The reason goes to the log."""
        tables = self._with_column(table_name, tables_of("partition_tables", {table_name: table_config}))
        strategy = self._project(tables).table(table_name).partitions.strategy(partition_value)
        LOGGER.info("%s %s: %s", table_name, partition_value, strategy)
        return strategy.partition(":")[0]

    def validate_partition_switching_prerequisites(self, table_name: str, schema: str = "dbo") -> dict[str, bool]:
        """Return each precondition with whether it is met. What is in the way goes to the log, with its cure."""
        found = self._partitioned(table_name, schema).partitions.preconditions()
        for precondition in found:
            if not precondition.is_met:
                LOGGER.warning("%s: %s", table_name, precondition)
        answer: dict[str, bool] = {}
        for precondition in found:
            answer[precondition.name] = answer.get(precondition.name, True) and precondition.is_met
        return answer

    def validate_partition_alignment(self, table_name: str, schema: str = "dbo") -> dict[str, Any]:
        """Return values of the source that have no partition of their own bounds, and what keeps partitions from being
        switched; empty lists when all is well."""
        table = self._partitioned(table_name, schema)
        layout = table.partitions.layout()
        unmet = [str(rule) for rule in table.partitions.preconditions() if not rule.is_met]
        if layout is None or layout.problem:
            problem = "the table is not partitioned" if layout is None else layout.problem
            return Issues(boundary_mismatches=[], problems=[problem, *unmet], partitions=0)
        values = self._values_of(table_name, layout.column)
        mismatches = [value.native for value in values if _is_without_bounds(layout, value)]
        return Issues(boundary_mismatches=mismatches, problems=unmet, partitions=len(layout.partitions))

    def report_partition_boundary_issues(self, table_name: str) -> list[str]:
        """Log and return one sentence for each issue of the partitions' boundaries."""
        found = self.validate_partition_alignment(table_name)
        issues = [f"{table_name}: no partition has bounds for {value}" for value in found["boundary_mismatches"]]
        issues += [f"{table_name}: {problem}" for problem in found["problems"]]
        for issue in issues:
            LOGGER.warning("%s", issue)
        return issues

    # Stages and switches

    def create_staging_table(self, source_table: str, partition_value: object, schema: str = "dbo") -> str:
        """Create a table beside `source_table` of the target that can be switched for the partition of a value."""
        suffix = self._tables.get(source_table, {}).get("staging_suffix", "_STAGE")
        return str(self._partitioned(source_table, schema).partitions.create_stage(partition_value, suffix))

    def switch_partition(
        self, source_table: str, staging_table: str, partition_value: object, schema: str = "dbo"
    ) -> dict[str, Any]:
        """Put a staging table in place of the partition of a value. Refused where other values would be lost."""
        table = self._partitioned(source_table, schema)
        entry = table.partitions.switch(self._stage(table, staging_table, schema), partition_value)
        return {"partition_value": native(str(partition_value)), "rows": entry.rows, "hash": entry.hash}

    def rebuild_staging_indexes(self, staging_table: str, schema: str = "dbo") -> None:
        table = self._partitioned(staging_table, schema)
        table.partitions.rebuild_indexes(self._stage(table, staging_table, schema))

    def update_statistics(self, table_name: str, schema: str = "dbo") -> None:
        self._partitioned(table_name, schema).partitions.update_statistics()

    def parallel_partition_load(
        self,
        table_name: str,
        partition_values: Sequence[object],
        table_config: Mapping[str, Any],
        max_parallel: int = 4,
        schema: str = "dbo",
    ) -> dict[str, Any]:
        """Extract and load these values, as many at once as `max_parallel` says. Values that are there stay."""
        tables = self._with_column(table_name, tables_of("partition_tables", {table_name: table_config}))
        tables[table_name] = in_schema(tables[table_name], table_name, schema)
        project = self._project(tables, max_connections=max_parallel)
        column = tables[table_name]["partition_column"]
        available = project.distinct_values("source", table_name, column)
        done: dict[str, Any] = {}
        for first, last in _adjacent(available, partition_values):
            loaded = self._report(project.backfill(table_name, first, last))
            for name, facts in loaded.items():
                before = done.setdefault(name, {**facts, "values": [], "rows_loaded": 0, "rows_extracted": 0})
                for key in ("values", "rows_loaded", "rows_extracted"):
                    before[key] += facts[key]
        return done

    def cleanup_staging_tables(self, pattern: str = "*_STAGE_*", schema: str = "dbo") -> list[str]:
        """Drop staging tables that no live run owns, and return their names."""
        return self._partitioned("any", schema).project.drop_orphaned_stages(pattern)

    def find_orphaned_staging_tables(self) -> list[str]:
        return self._partitioned("any", "dbo").project.orphaned_stages()

    def drop_table(self, table: str) -> None:
        """Drop a staging table. Tables of others are refused."""
        self._partitioned("any", "dbo").project.drop_stage(table)

    # Shared

    def _partitioned(self, table_name: str, schema: str) -> TableSync:
        known = self._tables.get(table_name)
        project = self._project({table_name: in_schema(known or {"kind": "static"}, table_name, schema)})
        # A table that is only looked at is not one of the pipeline's, and keeps the settings that it was given.
        if known is None:
            del self._tables[table_name]
        else:
            self._tables[table_name] = known
        return project.table(table_name)

    def _with_column(self, table_name: str, tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the tables with what an earlier call said of them: the column by which they are divided."""
        known = {key: value for key, value in self._tables.get(table_name, {}).items() if key == "partition_column"}
        return {name: {**known, **settings} for name, settings in tables.items()}

    def _values_of(self, table_name: str, column: str) -> list[Value]:
        return self._partitioned(table_name, "dbo").project.distinct_values("source", table_name, column)

    def _stage(self, table: TableSync, staging_table: str, schema: str) -> TableName:
        name = TableName.parse(staging_table)
        return name if name.schema else table.partitions.beside(name.name)


def in_schema(settings: Mapping[str, Any], table: str, schema: str) -> dict[str, Any]:
    """Return the settings with the target's schema; `dbo` means the default schema of every database."""
    if schema in ("", "dbo") or "target_table" in settings:
        return dict(settings)
    return {**settings, "target_table": f"{schema}.{table}"}


def _boundaries(layout: PartitionLayout) -> list[Any]:
    bounds = {bound for partition in layout.partitions for bound in (partition.low, partition.high) if bound}
    listed = {value for partition in layout.partitions for value in partition.values if value is not None}
    return [value.native for value in sorted(bounds | listed)]


def _is_without_bounds(layout: PartitionLayout, value: Value) -> bool:
    partition = layout.partition_of(value)
    return partition is None or partition.is_default


def _adjacent(available: Sequence[Value], wanted: Sequence[object]) -> list[tuple[Value, Value]]:
    """Return ranges of the values that have no value of the source between them that is not wanted."""
    if not available:
        return []
    chosen = {Value.of(value, available[0].kind) for value in wanted}
    ranges: list[tuple[Value, Value]] = []
    is_open = False
    for value in available:
        if value in chosen:
            ranges = [*ranges[:-1], (ranges[-1][0], value)] if is_open else [*ranges, (value, value)]
        is_open = value in chosen
    return ranges
