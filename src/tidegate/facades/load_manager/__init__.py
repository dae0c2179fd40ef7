"""`IncrementalLoadManager`: watermarks, extraction of what is new, consistency, loads and change events, by one class.

Rows come back as pandas frames unless the manager was made with `frames="spark"`, `"arrow"` or `"polars"`; frames of
every kind are taken. The work is done in Spark. Watermarks, metrics and everything else that is remembered stand in
Tidegate's own tables of the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from tidegate.api import Frames
from tidegate.errors import ConfigError
from tidegate.facades.load_manager.changes import ChangeCapture
from tidegate.facades.load_manager.results import LOGGER, Hooks, Metrics, metrics_of
from tidegate.facades.load_manager.settings import (
    DEFAULTS,
    LOAD_TYPES,
    STRATEGIES,
    UNTOUCHED,
    Extraction,
    extraction_of,
    names,
    one_of,
    require_known,
)
from tidegate.model.records import Watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class IncrementalLoadManager:
    """Loads what is new of tables, and keeps account of it. Takes every database of Tidegate."""

    def __init__(
        self,
        db_connection: Any,
        frames: Literal["pandas", "spark", "arrow", "polars"] = "pandas",
        *,
        spark: SparkSession | None = None,
        config: Mapping[str, Any] | None = None,
        quality_engine: Any = None,
        audit_logger: Any = None,
        performance_monitor: Any = None,
    ) -> None:
        """`db_connection` is a URL, an engine or connection of SQLAlchemy, or a DB-API connection. `config` has the
        settings of `DEFAULTS`; the three tools are functions, or objects with `validate`, `log` and `record`."""
        require_known(config or {}, DEFAULTS, "the manager's configuration")
        self.config = {**DEFAULTS, **(config or {})}
        self._kind = one_of(frames, ("pandas", "spark", "arrow", "polars"), "kind of frame")
        self._frames = Frames.of(db_connection, spark, float(self.config["timeout_seconds"]))
        self._hooks = Hooks(quality_engine, audit_logger, performance_monitor)
        self._capture = ChangeCapture(self._frames)

    # Watermarks

    def get_last_watermark(
        self, pipeline_id: str, source_id: str, watermark_column: str | None = None
    ) -> Watermark | None:
        """Return the watermark of a column; without a column, the one that moved last. None when there is none."""
        return self._frames.stream(pipeline_id, source_id).watermark(watermark_column)

    def update_watermark(
        self,
        pipeline_id: str,
        source_id: str,
        new_watermark: Any,
        watermark_column: str,
        strategy: str = "timestamp",
    ) -> Watermark:
        """Set the watermark of one column; those of other columns stay."""
        one_of(strategy, STRATEGIES, "strategy")
        stream = self._frames.stream(pipeline_id, source_id)
        watermark = stream.set_watermark(new_watermark, watermark_column, strategy)
        self._hooks.audit("update_watermark", pipeline=pipeline_id, source=source_id, watermark=new_watermark)
        return watermark

    def reset_watermark(
        self,
        pipeline_id: str,
        source_id: str,
        watermark_column: str | None = None,
        new_watermark: Any = None,
        reason: str = "reset by hand",
    ) -> list[Watermark]:
        """Set watermarks back, so that rows are read again; without a new value, all of them. Who and why is kept."""
        reset = self._frames.stream(pipeline_id, source_id).reset(watermark_column, new_watermark, reason)
        self._hooks.audit("reset_watermark", pipeline=pipeline_id, source=source_id, to=new_watermark, reason=reason)
        return reset

    def detect_watermark_stall(
        self, pipeline_id: str, source_id: str, table: str, watermark_column: str, stalled_after_seconds: float = 3600
    ) -> Metrics:
        """Return whether a watermark has stood still for so long although its table has newer rows."""
        stall = self._frames.stream(pipeline_id, source_id).stall(table, watermark_column, stalled_after_seconds)
        if stall.is_stalled:
            LOGGER.warning("%s %s: the watermark stands still at %s", pipeline_id, source_id, stall.watermark)
        return Metrics(asdict(stall))

    # Extraction

    def extract_incremental_data(self, config: Mapping[str, Any], watermark: Watermark | None = None) -> Any:
        """Return the rows of a table after a watermark; all of its rows without one."""
        extraction = extraction_of({**self._stored_settings(config), **config})
        after = None if watermark is None else watermark.watermark_value
        if extraction.strategy == "snapshot":
            found = self._snapshot(extraction, after)
        elif extraction.strategy == "cdc":
            found = self._capture.read({"cdc_type": "trigger_based", "table": extraction.table}, after)
        else:
            found = self._new_rows(extraction, after)
        read = found.localCheckpoint() if self._kind == "spark" else self._frames.collected(found)
        self._note_gaps(extraction, read, watermark)
        rows = self._frames.result(read, self._kind)
        self._hooks.audit("extract_incremental_data", table=extraction.table, after=after, strategy=extraction.strategy)
        return rows

    def _stored_settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        if not config.get("source_id"):
            return {}
        return self._frames.stream(config.get("pipeline_id"), config["source_id"]).settings()

    def _new_rows(self, extraction: Extraction, after: Any) -> DataFrame:
        frames, options = self._frames, extraction.options
        if after is not None and options.get("null_cursor") != "ignore":
            for column in extraction.cursor:
                if frames.has_nulls(extraction.table, column):
                    text = "%s: rows without a value in %s are in no window; set `null_cursor: ignore` if that is right"
                    LOGGER.warning(text, extraction.table, column)
        batch = int(options.get("batch_size", self.config["batch_size"]))
        found = frames.read(
            extraction.table, extraction.window(after), extraction.columns, options.get("text_columns", ()), batch
        )
        if extraction.strategy == "delta" and options.get("primary_key"):
            order = extraction.cursor[0] if extraction.cursor else None
            return frames.deduplicate(found, names(options["primary_key"]), "latest", order).kept
        return found

    def _snapshot(self, extraction: Extraction, after: Any) -> DataFrame:
        options = extraction.options
        return self._frames.snapshot(
            extraction.table, options.get("snapshot_column"), options.get("snapshot_date"), after, extraction.columns
        )

    def _note_gaps(self, extraction: Extraction, found: Any, watermark: Watermark | None) -> None:
        options = extraction.options
        wanted = options.get("enable_gap_detection", self.config["enable_gap_detection"])
        pipeline = options.get("pipeline_id") or (watermark.pipeline_id if watermark else None)
        source = options.get("source_id") or (watermark.source_id if watermark else None)
        if extraction.strategy != "sequence" or not wanted or not (pipeline and source):
            return
        stream, [column] = self._frames.stream(pipeline, source), extraction.cursor
        gaps = stream.gaps_of(self._frames.frame(found.select([column])), column)
        if gaps:
            stream.record_gaps(column, gaps, is_all=False)
            LOGGER.warning("%s: %d gaps in %s, the first at %s", extraction.table, len(gaps), column, gaps[0])

    # Consistency

    def handle_late_arriving_data(
        self,
        data: Any,
        timestamp_column: str,
        watermark_value: Any,
        pipeline_id: str | None = None,
        source_id: str | None = None,
        late: Literal["quarantine", "merge", "report"] = "quarantine",
    ) -> tuple[Any, int]:
        """Return the rows that are on time, and how many are late: those before the watermark.

        Late rows are kept in LATE_ARRIVING_DATA (`quarantine`), go on with the others (`merge`), or are only left out
        and counted (`report`)."""
        one_of(late, ("quarantine", "merge", "report"), "treatment of late rows")
        arrivals = self._frames.split_late(data, timestamp_column, watermark_value)
        late_count = self._frames.count(arrivals.late)
        if late_count and late == "quarantine":
            self._frames.stream(pipeline_id, source_id).keep_late(arrivals.late, timestamp_column, watermark_value)
        going_on = self._frames.frame(data) if late == "merge" else arrivals.on_time
        self._hooks.audit("handle_late_arriving_data", column=timestamp_column, late=late_count, treatment=late)
        return self._frames.result(going_on, self._kind), late_count

    def deduplicate_data(
        self,
        data: Any,
        key_columns: Sequence[str],
        keep: Literal["latest", "first"] = "latest",
        order_by: str | None = None,
        pipeline_id: str | None = None,
        source_id: str | None = None,
    ) -> tuple[Any, int]:
        """Return the rows with one of each key, and how many were removed. Those are kept in DUPLICATE_RECORDS."""
        rule: Literal["latest", "first"] = "first" if one_of(keep, ("latest", "first"), "rule") == "first" else "latest"
        keys = names(key_columns)
        found = self._frames.deduplicate(data, keys, rule, order_by)
        removed = self._frames.count(found.removed)
        if removed:
            self._frames.stream(pipeline_id, source_id).keep_duplicates(found, keys)
        self._hooks.audit("deduplicate_data", keys=", ".join(keys), removed=removed, rule=found.rule)
        return self._frames.result(found.kept, self._kind), removed

    def validate_incremental_completeness(
        self, expected_count: int, actual_count: int, tolerance_percent: float = 0.0
    ) -> dict[str, Any]:
        """Return whether the counts agree within the tolerance; a difference equal to it is complete."""
        verdict = asdict(self._frames.completeness(expected_count, actual_count, tolerance_percent))
        self._hooks.audit("validate_incremental_completeness", **verdict)
        return verdict

    def detect_data_gaps(
        self,
        pipeline_id: str,
        source_id: str,
        watermark_column: str,
        table: str | None = None,
        data: Any = None,
    ) -> list[dict[str, Any]]:
        """Return what is missing, and write it to DATA_GAPS.

        Always the ranges that no load of this stream covers; with a frame or a table (also one from the settings of
        the source) the missing numbers or days of the column as well."""
        stream = self._frames.stream(pipeline_id, source_id)
        table = table or stream.settings().get("table")
        gaps = stream.gaps_between_loads(watermark_column)
        if data is not None:
            gaps += stream.gaps_of(self._frames.frame(data), watermark_column)
        elif table is not None:
            gaps += stream.gaps_in_table(table, watermark_column)
        stream.record_gaps(watermark_column, gaps)
        self._hooks.audit("detect_data_gaps", pipeline=pipeline_id, source=source_id, gaps=len(gaps))
        return [asdict(gap) for gap in gaps]

    # Loads

    def merge_incremental_load(
        self,
        target_table: str,
        data: Any,
        merge_keys: Sequence[str] = (),
        load_type: str = "upsert",
        pipeline_id: str | None = None,
        source_id: str | None = None,
        watermark: Watermark | None = None,
        load_id: str | None = None,
    ) -> Metrics:
        """Load rows in one transaction, and return what was done; the table is created where there is none.

        With a watermark, that is set in the same transaction. A load that is repeated under its `load_id` does nothing.
        `scd2` takes the last merge key as the column that a version starts with."""
        one_of(load_type, LOAD_TYPES, "load_type")
        keys = names(merge_keys)
        if load_type == "scd2":
            return self.implement_scd_type2(target_table, data, keys[:-1], keys[-1] if keys else "", load_id=load_id)
        if load_type == "upsert" and not keys:
            raise ConfigError("An upsert needs to know what names a row.", UNTOUCHED, "Pass `merge_keys`.")
        self._hooks.require_quality(data, target_table)
        facts = self._facts(load_id, pipeline_id, source_id, watermark)
        deduplicates = bool(keys) and load_type != "replace" and self.config["enable_duplicate_handling"]
        done = self._frames.load(data, target_table, keys, load_type, facts, watermark, deduplicates=deduplicates)
        if done.duplicates_removed:
            stream = self._frames.stream(facts.pipeline_id, facts.source_id)
            stream.keep_duplicates(self._frames.deduplicate(data, keys), keys)
            self._hooks.audit("deduplicate_data", keys=", ".join(keys), removed=done.duplicates_removed)
        return self._done("merge_incremental_load", done)

    def _facts(
        self, load_id: str | None, pipeline_id: str | None, source_id: str | None, watermark: Watermark | None = None
    ) -> Any:
        """Return the metrics of a load before it begins."""
        stream = self._frames.stream(
            pipeline_id or (watermark.pipeline_id if watermark else None),
            source_id or (watermark.source_id if watermark else None),
        )
        facts = self._frames.metrics(pipeline_id=stream.pipeline_id, source_id=stream.source_id)
        facts = replace(facts, load_id=load_id or facts.load_id)
        return facts if watermark is None else stream.facts_of(facts, watermark)

    def implement_scd_type2(
        self,
        target_table: str,
        data: Any,
        business_key: str | Sequence[str],
        effective_date: str,
        pipeline_id: str | None = None,
        source_id: str | None = None,
        load_id: str | None = None,
    ) -> Metrics:
        """Load rows as versions that hold from `effective_date` on: `end_date` and `is_current` are kept right.

        A row that says what held already makes no version. A backdated row comes in its place in time."""
        keys = names(business_key)
        if not keys or not effective_date:
            raise ConfigError("Versions need a business key and the column of their start.", UNTOUCHED)
        self._hooks.require_quality(data, target_table)
        facts = replace(self._facts(load_id, pipeline_id, source_id), load_type="scd2")
        return self._done(
            "implement_scd_type2", self._frames.load_versions(data, target_table, keys, effective_date, facts)
        )

    def handle_data_corrections(
        self,
        target_table: str,
        data: Any,
        merge_keys: Sequence[str],
        effective_date: str | None = None,
        load_id: str | None = None,
    ) -> Metrics:
        """Apply backdated changes: in their place in time where versions are kept, else as updates of their rows."""
        if effective_date is not None:
            return self.implement_scd_type2(target_table, data, merge_keys, effective_date, load_id=load_id)
        return self.merge_incremental_load(target_table, data, merge_keys, "upsert", load_id=load_id)

    def _done(self, operation: str, done: Any) -> Metrics:
        metrics = metrics_of(done)
        self._hooks.measure(metrics)
        facts = ("target_table", "records_inserted", "records_updated", "records_deleted", "records_unchanged")
        self._hooks.audit(operation, **{name: metrics[name] for name in facts})
        return metrics

    # Change data capture

    def configure_cdc_source(self, cdc_config: Mapping[str, Any]) -> dict[str, Any]:
        """Check and remember where the events of a table come from; return what is used from now on."""
        configured = self._capture.configure(cdc_config)
        self._hooks.audit("configure_cdc_source", table=configured["table"], kind=configured["cdc_type"])
        return configured

    def read_cdc_stream(self, cdc_config: Mapping[str, Any], from_lsn: str | None = None) -> Any:
        """Return the events after a position, in the order of the log."""
        return self._frames.result(self._capture.read(cdc_config, from_lsn), self._kind)

    def apply_cdc_changes(
        self, target_table: str, cdc_events: Any, primary_key: str | Sequence[str] | None = None
    ) -> Metrics:
        """Apply events to a table: the last one of each key counts, and those that were applied before do nothing."""
        return self._done("apply_cdc_changes", self._capture.apply(target_table, cdc_events, primary_key))

    # Queries, settings, metrics

    def optimize_incremental_query(
        self, base_query: str, watermark: Watermark | None = None, partition_column: str | None = None
    ) -> str:
        """Return the query for rows after the watermark. Its `recommendations` are indexes that it lacks, as DDL."""
        query = self._frames.optimize(base_query, watermark, partition_column)
        for notice in (*query.notices, *(f"recommended: {ddl}" for ddl in query.recommendations)):
            LOGGER.info("optimize_incremental_query: %s", notice)
        return query

    def get_incremental_config(self, pipeline_id: str, source_id: str) -> dict[str, Any]:
        """Return the settings of a source in INCREMENTAL_CONFIG, which every extraction of that source takes."""
        return self._frames.stream(pipeline_id, source_id).settings()

    def set_incremental_config(self, pipeline_id: str, source_id: str, config: Mapping[str, Any]) -> None:
        extraction_of(config)
        self._frames.stream(pipeline_id, source_id).set_settings(config)

    def get_incremental_metrics(
        self, pipeline_id: str | None = None, source_id: str | None = None, last: int = 100
    ) -> list[Metrics]:
        """Return what the newest loads did, newest first."""
        with self._frames.records() as records:
            return [metrics_of(metrics) for metrics in records.loads(pipeline_id, source_id, last)]

    def close(self) -> None:
        """End the Spark session, if the manager started it."""
        self._frames.close()

    def __enter__(self) -> IncrementalLoadManager:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
