"""The door that every other door uses: a project, and one table of it.

>>> from tidegate import Tidegate
>>> tidegate = Tidegate.from_file("tidegate.yml")          # doctest: +SKIP
>>> tidegate.run()                                         # doctest: +SKIP
<run r-20260105-060001-3fa9c1: done, 100,000 rows extracted, 100,000 loaded, 6.2 s>
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import plugins
from tidegate._version import __version__
from tidegate.config import Project, load_project
from tidegate.errors import ConfigError, ForeignTarget, RunFailed, Unsupported
from tidegate.frames.door import Frames, Window
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import Lake
from tidegate.interfaces.open_table import OpenTable
from tidegate.model.analysis import boundaries, missing_data
from tidegate.model.columns import TableSchema
from tidegate.model.description import Section
from tidegate.model.health import Snapshot as Health
from tidegate.model.lake_versions import Exported, LakeCleaning, LakeHealth, LakeVersion
from tidegate.model.names import TableName
from tidegate.model.native import PartitionLayout
from tidegate.model.plan import Plan, Request
from tidegate.model.report import Finding, RunReport
from tidegate.model.scope import Scope
from tidegate.model.state import TableState
from tidegate.model.status import TableStatus, VersionsStatus
from tidegate.model.tokens import WatermarkSet
from tidegate.model.values import Value, ValueKind
from tidegate.monitoring.lineage import TableLineage, datasets_of, lineage_of
from tidegate.monitoring.observe import observe
from tidegate.monitoring.outlets import publish, run_ended, run_started
from tidegate.ops.activity import ActivityWatch
from tidegate.ops.cleanup import HOURS_BEFORE_A_WORKSPACE_IS_DEAD, Cleaned, clean
from tidegate.ops.describe import describe
from tidegate.ops.detection import Proposal
from tidegate.ops.feeds import FeedOutcome, TableHealth, as_text, change_feed, examine
from tidegate.ops.forget import forget
from tidegate.ops.init import propose_file
from tidegate.ops.native_partitions import layout_of
from tidegate.ops.open_tables import complete
from tidegate.ops.own_schema import create_schema, schema_statements
from tidegate.ops.partitions import Partitions
from tidegate.ops.proposal import propose
from tidegate.ops.queries import queries
from tidegate.ops.restore import Restored, restore
from tidegate.ops.stages import drop_orphans, drop_staging_table, orphans
from tidegate.ops.validation import issues_of, partition_issues
from tidegate.ops.values import distinct_values
from tidegate.ops.watermark import set_watermark, watermark_status
from tidegate.runs.adopt import adopt
from tidegate.runs.export import export
from tidegate.runs.frames import extract_frame, take_back
from tidegate.runs.journal import Journal, journals_of, under_way
from tidegate.runs.lake_reads import LakeReads
from tidegate.runs.lake_rows import LakeRows, lake_rows
from tidegate.runs.listener import Boundary, Listener
from tidegate.runs.merge_files import merge_small_files
from tidegate.runs.plan import planning
from tidegate.runs.restore import restore_as_of
from tidegate.runs.run import Pipeline, Run
from tidegate.runs.sync import Part, sync
from tidegate.runs.verify import verify, windows_that_differ
from tidegate.snapshots import Changes, Comparison, Snapshots, snapshot_ddl
from tidegate.spark.engine import engine_of
from tidegate.spark.place import Place
from tidegate.state.ledger import Ledger
from tidegate.state.lock import whoami
from tidegate.state.mirrors import FileMirror, PropertyMirror
from tidegate.tables.planned import SyncTable, as_plan
from tidegate.tables.status import status_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "Changes",
    "Comparison",
    "Frames",
    "Snapshots",
    "TableSync",
    "Tidegate",
    "Window",
    "lake_table",
    "propose_file",
    "schema_statements",
    "snapshot_ddl",
]


class Tidegate:
    """A project: one source, one lake, one target, and the tables that are kept in sync.

    Spark moves the rows, or threads of this process with `engine="process"`. Spark starts only when rows must move,
    unless a session is handed in; it ends with `close()` or the `with` block.
    """

    def __init__(
        self,
        *,
        source: str,
        target: str,
        lake: str | Path | Mapping[str, Any],
        tables: Mapping[str, Any],
        spark: SparkSession | Mapping[str, Any] | None = None,
        folder: Path | None = None,
        listener: Listener | None = None,
        **settings: Any,
    ) -> None:
        """`spark` is a session, or the settings of one. `settings` are the other keys of `tidegate.yml`."""
        given = spark if spark is not None and not isinstance(spark, Mapping) else None
        if isinstance(spark, Mapping):
            settings["spark"] = spark
        written = {"source": source, "target": target, "lake": lake, "tables": tables, **settings}
        self._open(Project.from_mapping(written, folder), given, listener)

    @classmethod
    def from_file(
        cls,
        path: str | Path = "tidegate.yml",
        *,
        spark: SparkSession | None = None,
        engine: str | Mapping[str, Any] | None = None,
        listener: Listener | None = None,
    ) -> Tidegate:
        """From a configuration file. `engine` replaces the file's. Raises ConfigError with file and line."""
        project = load_project(Path(path), engine=engine)
        return cls.from_project(project, spark=spark, listener=listener)

    @classmethod
    def from_project(
        cls, project: Project, *, spark: SparkSession | None = None, listener: Listener | None = None
    ) -> Tidegate:
        made = cls.__new__(cls)
        made._open(project, spark, listener)
        return made

    def _open(self, project: Project, spark: SparkSession | None, listener: Listener | None) -> None:
        self._completed = False
        self.boundary = Boundary()
        self._not_sent: list[str] = []
        self._listener = listener or Listener()
        lake, target = _lake(project), plugins.database(project.target)
        source = plugins.database(project.source)
        if not source.is_source:
            raise Unsupported(f"{source.label} can be a target, not a source.", "Nothing was read.")
        if target.capabilities.bulk_from_files:
            lake = lake.for_servers()
            target = target.loading_from(lake.store)
        self._known = Pipeline(project, source, target, lake)
        where, engine = project.spark, project.engine
        place = Place(where.master, where.remote, where.options, engine.warm, engine.idle)
        self._engine = engine_of(engine.name, place, spark)

    @property
    def project(self) -> Project:
        """Return the configuration. Reads the catalog of the source where tables are left open: patterns, kinds."""
        return self._pipeline.project

    @property
    def _pipeline(self) -> Pipeline:
        if not self._completed:
            self._known, self._completed = complete(self._known), True
        return self._known

    # The daily verbs

    def plan(self, *tables: str) -> Plan:
        """What `run` would do now. Reads catalogs, indexes and footers; starts no Spark and writes nothing."""
        with planning(self._pipeline) as planner:
            return as_plan(planner.plan(self._chosen(tables)), (*self._pipeline.notes, *self._pipeline.lake.notes()))

    def run(
        self, *tables: str, reload: bool = False, resync: bool = False, resume: bool = False, check: bool = True
    ) -> RunReport:
        """Bring the target in sync. Raises RunFailed when tables failed, unless `check` is off.

        With `reload` everything in scope is extracted and loaded again, and a ledger of another database is replaced.
        With `resync` tables are read as a whole whose change feed lost its place. With `resume` also tables are brought
        in sync that were restored to an earlier state.
        """
        request = Request(reload_all=True) if reload else Request(resume=resume, resync=resync)
        keys = self._chosen(tables)
        report = sync(self._run("run", keys), keys, lambda table, state: request, disown=reload and self._is_foreign())
        return self._checked(report, check)

    def verify(self, *tables: str, deep: bool = False) -> RunReport:
        """Read both sides and compare them, value by value; with `deep` name the keys that differ."""
        keys = self._chosen(tables)
        return self._checked(verify(self._run("verify", keys), keys, deep=deep), check=False)

    def repair(self, *tables: str, check: bool = True) -> RunReport:
        """Verify, then extract and load again exactly the values that differ."""
        chosen = self._chosen(tables)
        compared = verify(self._run("verify", chosen), chosen)
        differing = windows_that_differ(compared)
        self._not_sent += run_ended(self._pipeline, compared)

        def ask(table: SyncTable, state: TableState) -> Request:
            return Request(reload=frozenset(table.change.value(text) for text in differing.get(table.key, ())))

        keys = [key for key in chosen if key in differing]
        return self._checked(sync(self._run("repair", keys), keys, ask), check)

    def backfill(self, table: str, from_: object, to: object, check: bool = True) -> RunReport:
        """Also be responsible for the values from `from_` to `to`, both included, and load what is missing of them."""

        def ask(resolved: SyncTable, state: TableState) -> Request:
            low, high = resolved.change.value(from_), resolved.change.value(to)
            if high < low:
                raise ConfigError(
                    f"{table}: a backfill from {low} to {high} holds nothing.", "Nothing was read or written."
                )
            return Request(between=(low, high))

        keys = self._chosen([table])
        return self._checked(sync(self._run("backfill", keys), keys, ask), check)

    def load_versions(self, table: str, frame: Any, check: bool = True) -> RunReport:
        """Rows of a DataFrame as one more batch of a table of versions: the same as `load(table, frame)`."""
        return self._load_frame(table, frame, check)

    def _load_frame(self, table: str, frame: Any, check: bool) -> RunReport:
        """Bring rows of a program into the lake, and by a run, which takes what else is due too, into the target. What
        cannot be loaded leaves the lake again."""
        [key] = self._chosen([table])
        run = self._run("load", [key])
        window = extract_frame(run, key, frame)
        report = sync(run, [key])
        if report.failures and window is not None:
            take_back(run, key, window)
        return self._checked(report, check)

    # Single phases

    def extract(self, *tables: str, values: Collection[object] | None = None, check: bool = True) -> RunReport:
        """Extract into the lake what a run would extract, and load nothing. `values` limits it to these windows."""
        return self._part(tables, Part(loads=False, windows=_texts(values)), "extract", check)

    def load(self, *tables: Any, values: Collection[object] | None = None, check: bool = True) -> RunReport:
        """Load what the lake holds and the target does not, and extract nothing.

        `load(table, frame)` takes the rows of a DataFrame instead (Spark, pandas, polars, Arrow), with the source's
        columns: into the lake as one window, and into the target. Incremental tables and versions take rows."""
        if len(tables) == 2 and isinstance(tables[0], str) and not isinstance(tables[1], str):
            return self._load_frame(tables[0], tables[1], check)
        return self._part(tables, Part(extracts=False, windows=_texts(values)), "load", check)

    def _part(self, tables: Sequence[str], part: Part, verb: str, check: bool) -> RunReport:
        keys = self._chosen(tables)
        return self._checked(sync(self._run(verb, keys), keys, part=part), check)

    def entries(self, table: str) -> dict[Value, str]:
        """Return where the lake keeps the windows of a table, in their order: by window, a file or a folder."""
        return self._lake_reads.places(self._chosen([table])[0])

    def dataframe(self, table: str, as_of: object = None, raw: bool = False, *, since: object = None) -> DataFrame:
        """Return the rows of a table that the lake holds, as a Spark DataFrame. Starts Spark if none runs.

        Of an incremental table that is its state: of each key the row that was read last, without rows that left.
        `raw` returns every row that was ever extracted.

        `as_of` is a time or a version: the rows that the lake had then. `since` leaves out those that it had then.
        Iceberg and Delta lakes keep every state. A Parquet lake keeps those of tables with a cursor and of whole
        tables, and of partition tables those in which no value had other rows than now."""
        return self._lake_reads.dataframe(self._chosen([table])[0], as_of, since, raw=raw)

    def lake_changes(self, table: str, since: object, until: object = None) -> DataFrame:
        """Return what changed in a table of the lake between two times or versions, the second now by default: rows
        with `insert` or `delete` in the column `_change`. A row that changed is there with both."""
        return self._lake_reads.changes(self._chosen([table])[0], since, until)

    @property
    def lake(self) -> Lake:
        """Return the lake of the project."""
        return self._pipeline.lake

    def keys(self, *tables: str) -> list[str]:
        """Return the names of the tables that these names or patterns mean; of all without any."""
        return self._chosen(tables)

    def lake_rows(self, table: str) -> LakeRows:
        """Return the committed entries of a table in the lake, to be read in this process: no Spark."""
        return lake_rows(self._pipeline, self._chosen([table])[0])

    def lake_history(self, table: str, target: bool = False) -> list[LakeVersion]:
        """Return what happened to a table in the lake, oldest first: one version for each window that came or left.

        With `target`, to the table that is kept there as the target (`target: lake`), instead of the log beside it."""
        return self._lake_reads.history(self._chosen([table])[0], of_target=target)

    def lake_health(self, *tables: str) -> dict[str, LakeHealth]:
        """Return the state of the files of tables in the lake."""
        return {key: self._lake_reads.health(key) for key in self._chosen(tables)}

    def lake_clean(
        self, *tables: str, keep_days: float = 7.0, merge: bool = True, dry_run: bool = True
    ) -> dict[str, LakeCleaning]:
        """Merge small files of tables in the lake, forget states that are older, and delete files that nobody needs.

        Rows that a run could need stay, whatever their age. Only `dry_run=False` changes anything."""
        lake, before = self._pipeline.lake, datetime.now(UTC) - timedelta(days=keep_days)
        cleaned = {}
        for key in self._chosen(tables):
            resolved = self._lake_reads.table(key)
            found = LakeCleaning()
            for table in (resolved.lake_table, resolved.found.kept):
                groups = lake.small(table) if merge and table is not None else []
                if groups and not dry_run and table is not None:
                    merge_small_files(self._run("clean"), key, table, groups)
                if table is not None:
                    merged = LakeCleaning(merged=sum(map(len, groups)), into=len(groups))
                    found = found + lake.clean(table, before, dry_run) + merged
            cleaned[key] = found
        return cleaned

    def export(self, table: str, kind: str = "iceberg", path: str | Path = "./warehouse") -> Exported:
        """Write all rows that a table of the source has now into a lake, as one version. No target is touched."""
        [key] = self._chosen([table])
        return export(self._run("export", [key]), key, plugins.lake(kind).at(Path(path).absolute()))

    def restore_as_of(self, table: str, as_of: object, check: bool = True) -> RunReport:
        """Bring the target of a table back to a time or a version of the lake, in one transaction. Until
        `run(resume=True)` nothing of the table moves. Partition tables and static ones, in Iceberg and Delta lakes."""
        [key] = self._chosen([table])
        version = self._lake_reads.version(key, as_of)
        return self._checked(restore_as_of(self._run("restore", [key]), key, version), check)

    @property
    def _lake_reads(self) -> LakeReads:
        return LakeReads(self._pipeline, self._engine.session)

    # Change feeds

    def create_feed(self, *tables: str, dry_run: bool = False) -> list[FeedOutcome]:
        """Create on the source what the change feeds of these tables need, and return the statements."""
        return change_feed(self._pipeline, self._chosen(tables), "create", dry_run=dry_run)

    def drop_feed(self, *tables: str, dry_run: bool = False) -> list[FeedOutcome]:
        """Remove from the source what `create_feed` made, and return the statements."""
        return change_feed(self._pipeline, self._chosen(tables), "drop", dry_run=dry_run)

    @staticmethod
    def in_words(found: Sequence[TableHealth]) -> list[str]:
        """Return what `doctor` found as lines for people."""
        return as_text(found)

    def doctor(self, *tables: str) -> list[TableHealth]:
        """Return whether the change feeds of these tables are alive, how far behind, and what is missing."""
        return examine(self._pipeline, self._chosen(tables))

    # Now and then

    def adopt(self, *tables: str, check: bool = True) -> RunReport:
        """Take over what the target holds: receipts and scope, nothing reloaded."""
        keys = self._chosen(tables)
        report = adopt(self._run("adopt", keys), keys, foreign=self._is_foreign())
        return self._checked(report, check)

    def restore(self, table: str, value: object) -> Restored:
        """Bring back the rows of a partition value that the newest switch replaced."""
        return restore(self._run("restore"), self._chosen([table])[0], str(value))

    def forget(self, table: str, value: object) -> Scope:
        """Take a value out of the scope; its rows and files stay. The scope from now on."""
        return forget(self._run("forget"), self._chosen([table])[0], str(value))

    def watermark(self, table: str) -> VersionsStatus:
        """How far a table is synced, which transactions hold the watermark, and which gaps are carried."""
        return watermark_status(self._pipeline, self._chosen([table])[0])

    def set_watermark(self, table: str, value: object | None, *, why: str, who: str | None = None) -> WatermarkSet:
        """Set the watermark of an incremental table, or reset it with None: the next run reads from there on."""
        text = None if value is None else str(value)
        return set_watermark(self._run("watermark"), self._chosen([table])[0], text, who or whoami(), why)

    def clean(self, *, older_than_hours: float = HOURS_BEFORE_A_WORKSPACE_IS_DEAD, dry_run: bool = False) -> Cleaned:
        """Sweep what dead runs left in the lake's workspace, old reports, and snapshots beyond their retention."""
        cleaned = clean(self._pipeline, older_than_hours=older_than_hours, dry_run=dry_run)
        if self.snapshots is None:
            return cleaned
        return replace(cleaned, archives=self.snapshots.clean(dry_run=dry_run))

    @property
    def snapshots(self) -> Snapshots | None:
        """Return the snapshots of `snapshots:` in the configuration; None without."""
        settings = self.project.snapshots
        return None if settings is None else Snapshots(settings)

    def status(self, *tables: str, count_all: bool = False) -> list[TableStatus]:
        """Where every value stands, and what is pending."""
        with planning(self._pipeline) as planner:
            return [status_of(result) for result in planner.plan(self._chosen(tables), count_all=count_all)]

    def analyze(self, *tables: str) -> dict[str, dict[str, Any]]:
        """Return what source, lake and target hold of each table, what is missing or differs, and values that native
        partitions of the target have no bounds for. Counts rows, reads none."""
        return self._analysis(self.status(*tables, count_all=True))

    def _analysis(self, statuses: Sequence[TableStatus]) -> dict[str, dict[str, Any]]:
        found = {}
        for status in statuses:
            found[status.table] = missing_data(status)
            layout = None if status.state == "failed" else self.native_partitions(status.table)
            if layout is not None:
                found[status.table]["native_partitions"] = boundaries(layout, self._values_in_source(status, layout))
        return found

    def _values_in_source(self, status: TableStatus, layout: PartitionLayout) -> list[Value]:
        """Return the values in scope of a table that is divided by the column of its native partitions."""
        if status.kind != "partition" or layout.column.lower() != status.partition_column.lower():
            return []
        bounds = [bound for part in layout.partitions for bound in (part.low, part.high, *part.values) if bound]
        kind = bounds[0].kind if bounds else ValueKind.TEXT
        outside = ("out of scope", "forgotten", "removed")
        shown = [value for value in status.values if value.source_rows != 0 and value.state not in outside]
        return [Value.of(value.value, kind) for value in shown]

    def validate(self, *tables: str, deep: bool = False) -> dict[str, dict[str, list[str]]]:
        """Compare every row, and look at versions, rules and native partitions. Return the issues by table and kind:
        `differences`, `rules`, `partitions`. Empty when all is well.

        Equal hashes over every row prove decimals exactly; a type that cannot hold them is a difference."""
        keys = self._chosen(tables)
        report = self.verify(*keys, deep=deep)
        found = issues_of(report, keys)
        for key in keys:
            found[key]["partitions"] = partition_issues(self.analyze(key)[key])
        clean: dict[str, dict[str, list[str]]] = {}
        for key, issues in found.items():
            left = {kind: texts for kind, texts in issues.items() if texts}
            if left:
                clean[key] = left
        return clean

    def describe(self, table: str) -> dict[str, list[Section]]:
        """All that the catalogs of `source` and `target` tell of a table; nothing of one that cannot be seen."""
        return describe(self._pipeline, self._chosen([table])[0])

    def queries(self, table: str) -> dict[str, str]:
        """The SELECTs with which the next run would read rows of a table from the source, by window."""
        return queries(self._pipeline, self._chosen([table])[0])

    def grants(self) -> dict[str, list[str]]:
        """The statements that give the logins of `source` and `target` the rights that they need, and no more; as
        comments, what some may want besides."""
        source, target = self._pipeline.source, self._pipeline.target
        tables = self._pipeline.project.tables.values()
        written = {
            table.target_table.within(target.default_schema): plugins.load(table.load_name).updates_rows
            for table in tables
        }
        reads = source.grants_to_read([table.source_table.within(source.default_schema) for table in tables])
        writes = target.grants_to_write(list(written), {name for name, updates in written.items() if updates})
        return {
            "source": [*map(source.render, reads), *_besides(source, writes=False)],
            "target": [
                *map(target.render, writes),
                *_besides(target, writes=True),
                *(f"-- {note}" for note in target.notes_on_rights()),
            ],
        }

    def create_schema(self) -> list[str]:
        """Create Tidegate's own tables in the target where they are missing; return the names of what was added."""
        return create_schema(self._pipeline.target)

    def history(self, last: int = 20) -> list[dict[str, Any]]:
        """The reports of the newest runs, newest first."""
        with self._pipeline.target.connect("history", read_only=True) as session:
            ledger = Ledger(session)
            return ledger.reports(last) if ledger.exists() else []

    def monitor(self, *tables: str, statuses: Sequence[TableStatus] | None = None) -> Health:
        """Return figures and alerts of tables as they are now, from the run history and the state of source and target.

        What cannot be read is an alert, not an error. `statuses` are those that a caller has asked for already."""
        found = None if statuses is None else list(statuses)
        return observe(self._known, lambda: self._chosen(tables), lambda: found or self.status(*tables))

    def publish(self, health: Health) -> list[str]:
        """Send figures and new alerts to the outlets of `monitoring:`; return what could not be sent, and why."""
        known = self._known
        return publish(health, known.project.monitoring, known.target, known.project.redactor().redact)

    def lineage(self, table: str) -> TableLineage:
        """Return what the source, the lake and the target of a table are called in OpenLineage."""
        return next(datasets_of(self._pipeline, self._chosen([table])))

    def lineage_of(self, report: RunReport) -> list[TableLineage]:
        """Return what a run of this project says of each of its tables: rows, receipts, errors."""
        return list(lineage_of(self._pipeline, report))

    def report(self, path: str | Path = "tidegate-report.html") -> Path:
        """Write one self-contained HTML page: what ran, how fast, and what source, lake and target hold."""
        from tidegate.reports.html import write

        return write(self.facts(), Path(path))

    def facts(self, *, count_all: bool = True, alerts: bool = False) -> dict[str, Any]:
        """Return what the HTML page shows, as plain data without secrets. Without `count_all`, rows are counted inside
        of the look-back only. With `alerts` it also has those of `monitor`."""
        from tidegate.reports.facts import page_facts, without_secrets

        project = self.project
        places = {
            "source": project.source.display,
            "target": project.target.display,
            "lake": self._pipeline.lake.place,
        }
        now = datetime.now(UTC).isoformat(timespec="seconds")
        kept = [] if self.snapshots is None else self.snapshots.overview()
        tables = self.status(count_all=count_all)
        analysis = self._analysis(tables) if count_all else None
        facts = page_facts(places, __version__, now, tables, self.history(50), kept, analysis)
        if alerts:
            facts["alerts"] = self.monitor(statuses=tables).to_dict()["alerts"]
        found: dict[str, Any] = without_secrets(facts, project.redactor().redact)
        return found

    def under_way(self) -> list[dict[str, Any]]:
        """Return how far the runs are that move rows of this project just now, on this machine, as plain data."""
        from tidegate.reports.facts import without_secrets

        redact = self._known.project.redactor().redact
        return [without_secrets(told, redact) for told in under_way(self._journals)]

    def activity(self) -> ActivityWatch:
        """Return what asks the target which runs ended and which did not."""
        return ActivityWatch(self._known.target)

    def use_spark_of(self, other: Tidegate) -> Tidegate:
        """Share the Spark of another project: one start for both. Whoever started it closes it."""
        self._engine = other._engine
        return self

    def proposal(self, table: str) -> Proposal | None:
        """Return what `init` proposes for a table of the source; None when there is no such table."""
        source = self._pipeline.source
        wanted = TableName.parse(table).within(source.default_schema)
        with source.connect("init", read_only=True) as session:
            found = propose(source, session, [str(wanted)])
        return next((proposal for proposal in found if str(proposal.table).lower() == str(wanted).lower()), None)

    def distinct_values(self, side: str, table: str, column: str) -> list[Value]:
        """Return the values of a column of the `source` or the `target`, in order; none when there is no such table."""
        return distinct_values(self._side(side), TableName.parse(table), column)

    def schema(self, side: str, table: str) -> TableSchema | None:
        """Return a table of the `source` or the `target` as its catalog describes it."""
        database = self._side(side)
        name = TableName.parse(table).within(database.default_schema)
        with database.connect("inspect", read_only=True) as session:
            return session.table_schemas([name]).get(name)

    def native_partitions(self, table: str, side: str = "target") -> PartitionLayout | None:
        """Return how the server partitions a table of the project; None if it does not."""
        return layout_of(self._pipeline, self._chosen([table])[0], side)

    def orphaned_stages(self, pattern: str = "*") -> list[str]:
        """Return staging tables of the target that no live run owns."""
        return [str(name) for name in orphans(self._pipeline, pattern)]

    def drop_orphaned_stages(self, pattern: str = "*") -> list[str]:
        """Drop staging tables of the target that no live run owns, and return their names."""
        return [str(name) for name in drop_orphans(self._pipeline, pattern)]

    def drop_stage(self, name: str) -> None:
        """Drop one staging table. Raises MissingObject for any other table: users' tables are never dropped."""
        drop_staging_table(self._pipeline, TableName.parse(name))

    def _side(self, side: str) -> Database:
        return {"source": self._pipeline.source, "target": self._pipeline.target}[side]

    def table(self, name: str) -> TableSync:
        """One table of the project."""
        return TableSync(self, self._chosen([name])[0])

    def close(self) -> None:
        """End the Spark session, if this object started it."""
        self._engine.close()

    def __enter__(self) -> Tidegate:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        project = self._known.project
        return f"<Tidegate {project.source.display} -> {project.target.display}, {len(project.tables)} tables>"

    # Shared

    def _run(self, verb: str = "run", tables: Sequence[str] = ()) -> Run:
        run = Run(self._pipeline, self._engine, verb, self._listener, self.boundary, tables=tables)
        run.listener = Journal(self._journals, run.id, verb, run.started_at, self._listener)
        if tables:
            self._not_sent += run_started(self._pipeline, run.id, verb, tables)
        return run

    def _published(self, report: RunReport) -> RunReport:
        """Send what follows from a run to the outlets of `monitoring:`. What cannot be sent is a warning of the report:
        the rows are committed."""
        settings = self.project.monitoring
        failed = [*self._not_sent, *run_ended(self._pipeline, report)]
        self._not_sent = []
        if settings.after_run and settings.outlets:
            failed += self.publish(self.monitor())
        warnings = [Finding("", "monitoring", f"not sent: {text}", severity="warning") for text in failed]
        return replace(report, findings=(*report.findings, *warnings)) if warnings else report

    @property
    def _journals(self) -> Path:
        return journals_of(self._known.target_place, self._known.lake.place)

    def _is_foreign(self) -> bool:
        with self._pipeline.target.connect("inspect", read_only=True) as session:
            ledger = Ledger(session)
            try:
                if ledger.exists():
                    ledger.require_own()
            except ForeignTarget:
                return True
        return False

    def _chosen(self, patterns: Sequence[str]) -> list[str]:
        """Names or patterns; none means all. Raises ConfigError for one that matches nothing."""
        known = list(self.project.tables)
        chosen: list[str] = []
        for pattern in patterns:
            found = [name for name in known if name == pattern or fnmatchcase(name.lower(), pattern.lower())]
            if not found:
                close = difflib.get_close_matches(pattern, known, n=1)
                hint = f"Did you mean {close[0]}?" if close else f"Configured: {', '.join(known[:8])}."
                raise ConfigError(f"No table matches {pattern!r}.", "Nothing was read or written.", hint)
            chosen += [name for name in found if name not in chosen]
        return chosen if patterns else known

    def _checked(self, report: RunReport, check: bool) -> RunReport:
        report = self._published(report)
        if check and report.exit_code == 1:
            failed = "; ".join(f"{table}: {problem.splitlines()[0]}" for table, problem in report.failures[:3])
            problem = RunFailed(
                f"{report.verb} {report.run}: {len(report.failures)} of its tables failed ({failed}).",
                "What was loaded before stands, each value whole.",
                "`report` of this error has every step; run again when the cause is gone.",
            )
            problem.report = report
            raise problem
        return report


def lake_table(kind: str, place: str | Path, name: str) -> OpenTable:
    """Return a table of a lake by its name, whoever made it, without a project."""
    return plugins.lake(kind).at(Path(place).absolute()).opened(TableName.parse(name))


def watermark_file(place: str | Path, table: str) -> FileMirror:
    """Return the JSON file below this folder that holds a copy of a table's watermark."""
    return FileMirror(plugins.lake("parquet").at(Path(place).absolute()), table)


def watermark_property(place: str | Path, table: str, name: str) -> PropertyMirror:
    """Return the property of an Iceberg table that holds a copy of its watermark."""
    return PropertyMirror(lake_table("iceberg", place, table), table, name)


def _lake(project: Project) -> Lake:
    """Return the lake in its folder or bucket."""
    settings = project.lake
    found, place = plugins.lake(settings.format), settings.path
    lake = found.at(place) if isinstance(place, Path) else found.at_bucket(place, settings.store)
    lake = lake.cataloged(settings.catalog).arranged(settings.layout, settings.incremental_path)
    return lake if settings.compression is None else lake.compressed(settings.compression)


def _texts(values: Collection[object] | None) -> frozenset[str] | None:
    return None if values is None else frozenset(map(str, values))


def _besides(database: Database, *, writes: bool) -> list[str]:
    # A comment of one line: what follows would be run with the script.
    optional = {
        what: database.render(one).replace("\n", " ") for what, one in database.optional_grants(writes=writes).items()
    }
    return [f"-- {what}: {statement}" for what, statement in optional.items()]


class TableSync:
    """One table of a project, with the same verbs."""

    def __init__(self, project: Tidegate, name: str) -> None:
        self._project, self.name = project, name

    @property
    def project(self) -> Tidegate:
        return self._project

    def plan(self) -> Plan:
        return self._project.plan(self.name)

    def run(self, *, reload: bool = False, resync: bool = False, resume: bool = False, check: bool = True) -> RunReport:
        return self._project.run(self.name, reload=reload, resync=resync, resume=resume, check=check)

    def verify(self, *, deep: bool = False) -> RunReport:
        return self._project.verify(self.name, deep=deep)

    def repair(self, *, check: bool = True) -> RunReport:
        return self._project.repair(self.name, check=check)

    def backfill(self, from_: object, to: object, check: bool = True) -> RunReport:
        return self._project.backfill(self.name, from_, to, check)

    def load(self, frame: Any, check: bool = True) -> RunReport:
        return self._project.load(self.name, frame, check=check)

    def load_versions(self, frame: Any, check: bool = True) -> RunReport:
        return self._project.load_versions(self.name, frame, check)

    def adopt(self, *, check: bool = True) -> RunReport:
        return self._project.adopt(self.name, check=check)

    def forget(self, value: object) -> Scope:
        return self._project.forget(self.name, value)

    def describe(self) -> dict[str, list[Section]]:
        return self._project.describe(self.name)

    def restore(self, value: object) -> Restored:
        return self._project.restore(self.name, value)

    @property
    def partitions(self) -> Partitions:
        """The native partitions of the table in the target: their layout, stages and switches by hand."""
        project = self._project
        return Partitions(project._pipeline, lambda: project._run("switch"), self.name)

    def status(self, *, count_all: bool = False) -> TableStatus:
        return self._project.status(self.name, count_all=count_all)[0]

    def __repr__(self) -> str:
        return f"<TableSync {self.name} of {self._project!r}>"
