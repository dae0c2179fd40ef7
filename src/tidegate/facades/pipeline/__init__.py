"""`IncrementalSQLServerParquetPipeline`: source database, Parquet files, target database, by one class.

The class keeps the settings of every table that a method was given, so that methods which take only a table's name know
it later. A table that was never given is detected from the catalog of the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.api import Tidegate
from tidegate.errors import ConfigError, MissingObject
from tidegate.facades.pipeline import analysis
from tidegate.facades.pipeline.logs import LOGGER, configure_logging
from tidegate.facades.pipeline.switching import PartitionSwitching, in_schema
from tidegate.facades.pipeline.tables import (
    GLOBAL_SETTINGS,
    UNTOUCHED,
    Tables,
    parallel_of,
    require_known,
    sections_of,
    tables_of,
)
from tidegate.model.report import RunReport
from tidegate.model.status import TableStatus, VersionsStatus, WholeStatus
from tidegate.model.values import Value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Files = Mapping[str, Sequence[str]] | Sequence[str] | str
KINDS = {"partition": "partition", "scd2": "scd", "static": "static"}


class IncrementalSQLServerParquetPipeline(PartitionSwitching):
    """Keeps tables of a target in sync with a source, by way of Parquet files. Takes every database of Tidegate."""

    def __init__(
        self,
        source_connection_string: str,
        target_connection_string: str,
        parquet_storage_path: str | Path,
        *,
        global_settings: Mapping[str, Any] | None = None,
        spark: SparkSession | Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        """`global_settings` are those of the configuration; `settings` are further keys of `tidegate.yml`.

        `decimal_precision_validation` changes nothing: every load compares the rows that it wrote with those that were
        read, decimals included. With `enable_monitoring`, a run logs the alerts that `tidegate monitor` raises."""
        chosen = dict(global_settings or {})
        require_known(chosen, GLOBAL_SETTINGS, "global_settings")
        configure_logging(chosen.get("log_level"))
        self._monitors = bool(chosen.get("enable_monitoring"))
        lake: Any = parquet_storage_path
        if chosen.get("parquet_compression"):
            lake = {"path": str(parquet_storage_path), "compression": chosen["parquet_compression"]}
        if "error_threshold" in chosen:
            settings["error_threshold"] = chosen["error_threshold"]
        self._settings = {
            "source": source_connection_string,
            "target": target_connection_string,
            "lake": lake,
            "spark": spark,
            **settings,
        }
        self._tables: dict[str, dict[str, Any]] = {}
        self._first: Tidegate | None = None

    # The whole pipeline

    def run_daily_incremental_pipeline(
        self,
        partition_tables: Tables | None = None,
        scd_tables: Tables | None = None,
        static_tables: Tables | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Bring all tables in sync, and return what was done for each. Raises RunFailed when tables failed."""
        require_known(kwargs, {*analysis.RUN_ARGUMENTS}, "run_daily_incremental_pipeline")
        given = {"partition_tables": partition_tables, "scd_tables": scd_tables, "static_tables": static_tables}
        tables = analysis.with_run_arguments(sections_of({key: value or {} for key, value in given.items()}), kwargs)
        if not tables:
            raise ConfigError("No table was given.", UNTOUCHED, "Pass partition_tables, scd_tables or static_tables.")
        most = parallel_of(partition_tables or {})
        project = self._project(tables, **({"max_connections": most} if most else {}))
        try:
            return self._report(project.run())
        finally:
            if self._monitors:
                for alert in project.monitor().alerts:
                    LOGGER.warning("%s", alert)

    def extract_incremental_to_parquet(self, table_config: Mapping[str, Any], **kwargs: Any) -> dict[str, list[str]]:
        """Extract what is new, and return the files of each table that this call wrote."""
        require_known(kwargs, {*analysis.RUN_ARGUMENTS}, "extract_incremental_to_parquet")
        return self._extract(analysis.with_run_arguments(sections_of(table_config), kwargs))

    def load_incremental_from_parquet(self, parquet_files: Files, target_schema: str = "dbo") -> dict[str, Any]:
        """Load files that `extract_incremental_to_parquet` returned, each of them once."""
        return self._load(parquet_files, self._tables, target_schema)

    # Detection

    def detect_table_type(self, table_name: str) -> str:
        """Return `partition`, `scd` or `static`, from the catalog of the source; `unknown` when nothing tells."""
        return KINDS.get(self._proposed(table_name)["kind"], "unknown")

    def get_table_business_keys(self, table_name: str) -> list[str]:
        return list(self._proposed(table_name).get("business_keys", ()))

    def detect_partition_column(self, table_name: str) -> str | None:
        column = self._proposed(table_name).get("partition_column")
        return None if column is None else str(column)

    def get_table_primary_keys(self, table_name: str) -> list[str]:
        schema = self._any().schema("source", table_name)
        if schema is None:
            raise _missing(table_name)
        return list(schema.primary_key)

    # Partition tables

    def extract_partition_tables_to_parquet(
        self, table_config: Tables, target_partition_value: object = None
    ) -> dict[str, list[str]]:
        values = None if target_partition_value is None else [target_partition_value]
        return self._extract(tables_of("partition_tables", table_config), values)

    def get_last_processed_partition_value(self, table_name: str, partition_column: str) -> Any:
        """Return the smaller of the greatest values in Parquet and in the target; None when one of them has none."""
        in_lake = self._newest_in_lake(table_name, partition_column=partition_column)
        in_target = self._newest_in_target(table_name, partition_column)
        return None if in_lake is None or in_target is None else min(in_lake, in_target).native

    def get_available_partition_values(
        self, table_name: str, partition_column: str, start_value: object = None
    ) -> list[Any]:
        """Return the values that the source has, in order; after `start_value` where it is given."""
        values = self._any(table_name).distinct_values("source", table_name, partition_column)
        if start_value is None or not values:
            return [value.native for value in values]
        start = Value.of(start_value, values[0].kind)
        return [value.native for value in values if value > start]

    def load_partitioned_table_from_parquet(
        self,
        parquet_file: str | Path,
        table_name: str,
        partition_value: object,
        table_config: Mapping[str, Any],
        schema: str = "dbo",
    ) -> dict[str, Any]:
        """Load one value. Its rows replace the value in the target in one transaction."""
        known = self._tables.get(table_name, {})
        settings = {**known, **tables_of("partition_tables", {table_name: table_config})[table_name]}
        tables = {table_name: in_schema(settings, table_name, schema)}
        project = self._project(tables)
        if not Path(parquet_file).exists():
            raise MissingObject(
                f"{parquet_file} does not exist.", UNTOUCHED, "Extract the value first, or name the file of the lake."
            )
        return self._report(project.load(table_name, values=[partition_value]))

    # SCD tables

    def extract_scd_tables_to_parquet(
        self, table_config: Tables, target_timestamp: object = None
    ) -> dict[str, list[str]]:
        """Extract versions that changed. With `target_timestamp`, all since then are extracted and loaded again."""
        tables = tables_of("scd_tables", table_config)
        if target_timestamp is None:
            return self._extract(tables)
        project, before = self._project(tables), {name: set(self._files(name)) for name in tables}
        for name in tables:
            project.backfill(name, target_timestamp, analysis.newest_cursor(project.table(name).status()))
        return {name: [file for file in self._files(name) if file not in before[name]] for name in tables}

    def get_last_processed_timestamp(self, table_name: str) -> str | None:
        """Return the smaller of the greatest timestamps in Parquet and in the target; None when one has none."""
        in_lake = self.get_last_processed_timestamp_from_parquet(table_name)
        in_target = self.get_last_processed_timestamp_from_target_db(table_name)
        return None if in_lake is None or in_target is None else min(in_lake, in_target)

    def load_scd_from_parquet(
        self, parquet_files: Files, table_config: Tables, target_schema: str = "dbo"
    ) -> dict[str, Any]:
        return self._load(parquet_files, tables_of("scd_tables", table_config), target_schema)

    def update_islatest_flags(
        self, table_name: str, business_keys: Sequence[str], target_schema: str = "dbo"
    ) -> dict[str, Any]:
        """Correct flags of the target that tell another history than the versions, and return what was done."""
        settings = {**self._tables.get(table_name, {"kind": "scd2"}), "business_keys": list(business_keys)}
        project = self._project({table_name: in_schema(settings, table_name, target_schema)})
        return self._report(project.repair(table_name))

    # Static tables

    def extract_static_tables_to_parquet(
        self, table_config: Tables, force_extract: bool = False
    ) -> dict[str, list[str]]:
        """Extract tables that changed; all of them with `force_extract`, which also loads them."""
        tables = tables_of("static_tables", table_config)
        if not force_extract:
            return self._extract(tables)
        self._project(tables).run(reload=True)
        return {name: self._files(name)[-1:] for name in tables}

    def get_table_content_hash(self, table_name: str) -> str:
        return self._whole(table_name).source_hash

    def get_last_content_hash_from_parquet(self, table_name: str) -> str | None:
        return self._whole(table_name).lake_hash or None

    def load_static_from_parquet(
        self, parquet_files: Files, table_config: Tables, target_schema: str = "dbo"
    ) -> dict[str, Any]:
        return self._load(parquet_files, tables_of("static_tables", table_config), target_schema)

    def merge_static_table(
        self, table_name: str, primary_keys: Sequence[str], merge_strategy: str, target_schema: str = "dbo"
    ) -> dict[str, Any]:
        """Make the target hold what the source holds, by its key or by replacing all of it."""
        settings = {"kind": "static", "primary_keys": list(primary_keys), "merge_strategy": merge_strategy}
        known = {key: value for key, value in self._tables.get(table_name, {}).items() if key not in settings}
        project = self._project({table_name: in_schema({**settings, **known}, table_name, target_schema)})
        return self._report(project.run(table_name))

    # State: what Parquet and the target hold

    def get_last_processed_partition_value_from_parquet(self, table_name: str, partition_column: str) -> Any:
        newest = self._newest_in_lake(table_name, partition_column=partition_column)
        return None if newest is None else newest.native

    def get_last_processed_partition_value_from_target_db(self, table_name: str, partition_column: str) -> Any:
        newest = self._newest_in_target(table_name, partition_column)
        return None if newest is None else newest.native

    def get_last_processed_timestamp_from_parquet(self, table_name: str) -> str | None:
        status = self._project({table_name: self._settings_of(table_name)}).table(table_name).status()
        reached = [batch.upto for batch in getattr(status, "batches", ()) if batch.rows is not None and batch.upto]
        return max(reached, default=None)

    def get_last_processed_timestamp_from_target_db(self, table_name: str) -> str | None:
        newest = self._newest_in_target(table_name, self._settings_of(table_name).get("cursor_column", "LastModified"))
        return None if newest is None else newest.text

    def get_last_static_state_from_parquet(self, table_name: str) -> dict[str, Any]:
        whole = self._whole(table_name)
        return {
            "content_hash": whole.lake_hash or None,
            "row_count": whole.lake_rows or 0,
            "files": self._files(table_name),
        }

    def get_static_state_from_target_db(self, table_name: str) -> dict[str, Any]:
        whole = self._whole(table_name)
        return {
            "content_hash": whole.target_hash or whole.ledger_hash or None,
            "row_count": whole.target_rows or 0,
            "loaded_at": whole.loaded_at or None,
        }

    # Analysis

    def get_missing_data_analysis(self, table_config: Mapping[str, Any]) -> dict[str, Any]:
        """Return what source, Parquet and target hold of each table, and what is missing or differs."""
        return self._project(sections_of(table_config)).analyze()

    def get_pipeline_status(self, table_config: Mapping[str, Any]) -> dict[str, Any]:
        """Return where each table stands: what was processed last, what is pending, and whether all agree."""
        return {status.table: analysis.pipeline_status(status) for status in self._statuses(sections_of(table_config))}

    def validate_decimal_precision(self, tables: Sequence[str]) -> dict[str, list[str]]:
        """Return decimal columns whose values or types differ between source and target; empty lists when none do."""
        project = self._project({name: self._settings_of(name) for name in tables})
        report = project.verify()
        return {name: analysis.decimal_issues(project, name, report) for name in tables}

    def validate_scd_integrity(self, scd_tables: Tables | Sequence[str]) -> dict[str, list[str]]:
        """Return what is wrong with versions and flags of each table; empty lists when nothing is."""
        tables = self._given("scd_tables", scd_tables)
        return analysis.problems_by_table(self._project(tables).verify(deep=True), tables)

    def validate_static_integrity(self, static_tables: Tables | Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return for each table whether counts, content, keys and schema agree; all values false when they do."""
        tables = self._given("static_tables", static_tables)
        project = self._project(tables)
        report = project.verify()
        return {name: analysis.static_issues(project, name, report) for name in tables}

    # Backfill and repair

    def backfill_partition_data(self, table_config: Tables, start_value: object, end_value: object) -> dict[str, Any]:
        return self._backfill(tables_of("partition_tables", table_config), start_value, end_value)

    def backfill_scd_data(self, table_config: Tables, start_date: object, end_date: object) -> dict[str, Any]:
        return self._backfill(tables_of("scd_tables", table_config), start_date, end_date)

    def force_refresh_static_tables(self, table_config: Tables) -> dict[str, Any]:
        """Extract and load these tables again, whatever is known of them."""
        return self._report(self._project(tables_of("static_tables", table_config)).run(reload=True))

    def repair_scd_islatest_flags(self, table_name: str, business_keys: Sequence[str]) -> dict[str, Any]:
        return self.update_islatest_flags(table_name, business_keys)

    def repair_static_table(
        self, table_name: str, primary_keys: Sequence[str], target_schema: str = "dbo"
    ) -> dict[str, Any]:
        """Make the target equal to the source again, where `verify` finds a difference."""
        settings = {**self._tables.get(table_name, {"kind": "static"}), "primary_keys": list(primary_keys)}
        project = self._project({table_name: in_schema(settings, table_name, target_schema)})
        return self._report(project.repair(table_name))

    def close(self) -> None:
        """End the Spark session, if this object started it."""
        if self._first is not None:
            self._first.close()

    def __enter__(self) -> IncrementalSQLServerParquetPipeline:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # Shared

    def _project(self, tables: Mapping[str, Mapping[str, Any]], **more: Any) -> Tidegate:
        """Return a project of these tables. All projects of one pipeline share one Spark."""
        self._tables.update({name: dict(settings) for name, settings in tables.items()})
        project = Tidegate(**{**self._settings, **more, "tables": tables})
        if self._first is None:
            self._first = project
        return project.use_spark_of(self._first)

    def _any(self, table_name: str = "") -> Tidegate:
        """Return a project whose places can be asked, whatever its tables are."""
        known = self._tables.get(table_name)
        return self._project({table_name: known} if known else {table_name or "any": {"kind": "static"}})

    def _settings_of(self, table_name: str) -> dict[str, Any]:
        """Return the settings of a table as they were given, or as the catalog of the source proposes them."""
        if table_name not in self._tables:
            self._tables[table_name] = self._proposed(table_name)
        return self._tables[table_name]

    def _proposed(self, table_name: str) -> dict[str, Any]:
        project = Tidegate(**{**self._settings, "tables": {table_name: {"kind": "static"}}})
        proposal = project.proposal(table_name)
        if proposal is None:
            raise _missing(table_name)
        # What a table looks like, also where a setting that the catalog does not tell is still missing.
        likeness = proposal.instead or proposal
        settings = {setting.name: setting.value for setting in likeness.settings if setting.value is not None}
        return {"kind": likeness.kind or "static", **settings}

    def _given(self, section: str, tables: Tables | Sequence[str]) -> dict[str, dict[str, Any]]:
        if isinstance(tables, Mapping):
            return tables_of(section, tables)
        return {name: self._settings_of(name) for name in tables}

    def _newest_in_lake(self, table_name: str, *, partition_column: str) -> Value | None:
        known = self._tables.get(table_name, {})
        settings = {**known, "kind": "partition", "partition_column": partition_column}
        return max(self._project({table_name: settings}).entries(table_name), default=None)

    def _newest_in_target(self, table_name: str, column: str) -> Value | None:
        return max(self._any(table_name).distinct_values("target", table_name, column), default=None)

    def _statuses(self, tables: Mapping[str, Mapping[str, Any]]) -> list[TableStatus]:
        return self._project(tables).status() if tables else []

    def _whole(self, table_name: str) -> WholeStatus:
        status = self._project({table_name: self._settings_of(table_name)}).table(table_name).status()
        [value] = status.values
        if not isinstance(value, WholeStatus) or isinstance(status, VersionsStatus):
            raise ConfigError(f"{table_name} is no static table.", UNTOUCHED, "Ask for its partition values instead.")
        return value

    def _files(self, table_name: str) -> list[str]:
        return list(self._project({table_name: self._settings_of(table_name)}).entries(table_name).values())

    def _extract(
        self, tables: Mapping[str, Mapping[str, Any]], values: Sequence[object] | None = None
    ) -> dict[str, list[str]]:
        report = self._project(tables).extract(values=values)
        extracted: dict[str, list[str]] = {name: [] for name in tables}
        for name in tables:
            windows = {step.value for step in report.steps if (step.table, step.step) == (name, "extract")}
            places = self._project({name: tables[name]}).entries(name) if windows else {}
            extracted[name] = [place for window, place in places.items() if window.text in windows]
        return extracted

    def _load(self, files: Files, tables: Mapping[str, Mapping[str, Any]], schema: str) -> dict[str, Any]:
        """Load the windows that these files hold. Raises MissingObject for a file that is no entry of the lake."""
        wanted = analysis.paths_of(files)
        loaded: dict[str, Any] = {}
        for name, settings in tables.items():
            project = self._project({name: in_schema(settings, name, schema)})
            entries = project.entries(name)
            windows = [window for window, place in entries.items() if analysis.same_file(place, wanted)]
            wanted = [
                path for path in wanted if not any(analysis.same_file(entries[window], [path]) for window in windows)
            ]
            if windows:
                loaded |= self._report(project.load(name, values=[window.text for window in windows]))
        if wanted:
            raise MissingObject(
                f"{wanted[0]} is no file of these tables.",
                "The other files were loaded.",
                "Extract the table again, and pass the files that the extraction returns.",
            )
        return loaded

    def _backfill(self, tables: Mapping[str, Mapping[str, Any]], start: object, end: object) -> dict[str, Any]:
        done: dict[str, Any] = {}
        project = self._project(tables)
        for name in tables:
            done |= self._report(project.backfill(name, start, end))
        return done

    def _report(self, report: RunReport) -> dict[str, Any]:
        return analysis.steps_by_table(report)


def _missing(table_name: str) -> MissingObject:
    return MissingObject(
        f"The source has no table {table_name} that this login sees.", UNTOUCHED, "Name another, or grant SELECT on it."
    )
