"""The door that every other door uses: a project, and one table of it.

>>> from tidegate import Tidegate
>>> tidegate = Tidegate.from_file("tidegate.yml")          # doctest: +SKIP
>>> tidegate.run()                                         # doctest: +SKIP
<run r-20260105-060001-3fa9c1: done, 100,000 rows extracted, 100,000 loaded, 6.2 s>
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate import plugins
from tidegate._version import __version__
from tidegate.config import Project, load_project
from tidegate.errors import ConfigError, ForeignTarget, RunFailed
from tidegate.interfaces.database import Database
from tidegate.model.description import Section
from tidegate.model.plan import DAILY, Plan, Request
from tidegate.model.report import RunReport
from tidegate.model.scope import Scope
from tidegate.model.state import TableState
from tidegate.model.status import TableStatus
from tidegate.ops.cleanup import HOURS_BEFORE_A_WORKSPACE_IS_DEAD, Cleaned, clean
from tidegate.ops.describe import describe
from tidegate.ops.forget import forget
from tidegate.ops.init import propose_file
from tidegate.runs.adopt import adopt
from tidegate.runs.frames import extract_frame, take_back
from tidegate.runs.listener import Boundary, Listener
from tidegate.runs.plan import planning
from tidegate.runs.run import Pipeline, Run
from tidegate.runs.sync import sync
from tidegate.runs.verify import verify, windows_that_differ
from tidegate.spark.engine import Engine
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import SyncTable, as_plan
from tidegate.tables.status import status_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TableSync", "Tidegate", "propose_file"]


class Tidegate:
    """A project: one source, one lake, one target, and the tables that are kept in sync.

    Spark starts only when rows must move, unless a session is handed in; it ends with `close()` or the `with` block.
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
        listener: Listener | None = None,
    ) -> Tidegate:
        """From a configuration file. Raises ConfigError with file and line."""
        return cls.from_project(load_project(Path(path)), spark=spark, listener=listener)

    @classmethod
    def from_project(
        cls, project: Project, *, spark: SparkSession | None = None, listener: Listener | None = None
    ) -> Tidegate:
        made = cls.__new__(cls)
        made._open(project, spark, listener)
        return made

    def _open(self, project: Project, spark: SparkSession | None, listener: Listener | None) -> None:
        self.project = project
        self.boundary = Boundary()
        self._listener = listener or Listener()
        lake = plugins.lake(project.lake.format).at(project.lake.path)
        self._pipeline = Pipeline(project, plugins.database(project.source), plugins.database(project.target), lake)
        where = project.spark
        self._engine = Engine(where.master, where.remote, where.options, spark, where.from_rows)

    # The daily verbs

    def plan(self, *tables: str) -> Plan:
        """What `run` would do now. Reads catalogs, indexes and footers; starts no Spark and writes nothing."""
        with planning(self._pipeline) as planner:
            return as_plan(planner.plan(self._chosen(tables)))

    def run(self, *tables: str, reload: bool = False, check: bool = True) -> RunReport:
        """Bring the target in sync. Raises RunFailed when tables failed, unless `check` is off.

        With `reload` everything in scope is extracted and loaded again, and a ledger of another database is replaced.
        """
        request = Request(reload_all=True) if reload else DAILY
        report = sync(
            self._run(), self._chosen(tables), lambda table, state: request, disown=reload and self._is_foreign()
        )
        return self._checked(report, check)

    def verify(self, *tables: str, deep: bool = False) -> RunReport:
        """Read both sides and compare them, value by value; with `deep` name the keys that differ."""
        return verify(self._run("verify"), self._chosen(tables), deep=deep)

    def repair(self, *tables: str, check: bool = True) -> RunReport:
        """Verify, then extract and load again exactly the values that differ."""
        differing = windows_that_differ(self.verify(*tables))

        def ask(table: SyncTable, state: TableState) -> Request:
            return Request(reload=frozenset(table.change.value(text) for text in differing.get(table.key, ())))

        keys = [key for key in self._chosen(tables) if key in differing]
        return self._checked(sync(self._run("repair"), keys, ask), check)

    def backfill(self, table: str, from_: object, to: object, check: bool = True) -> RunReport:
        """Also be responsible for the values from `from_` to `to`, both included, and load what is missing of them."""

        def ask(resolved: SyncTable, state: TableState) -> Request:
            low, high = resolved.change.value(from_), resolved.change.value(to)
            if high < low:
                raise ConfigError(
                    f"{table}: a backfill from {low} to {high} holds nothing.", "Nothing was read or written."
                )
            return Request(between=(low, high))

        return self._checked(sync(self._run("backfill"), self._chosen([table]), ask), check)

    def load_versions(self, table: str, frame: Any, check: bool = True) -> RunReport:
        """Rows of a DataFrame (Spark, pandas or Arrow) as one more batch of a table of versions: into the lake, and by
        a run, which takes what else is due too, into the target. What cannot be loaded leaves the lake again."""
        [key] = self._chosen([table])
        run = self._run("load")
        window = extract_frame(run, key, frame)
        report = sync(run, [key])
        if report.failures:
            take_back(run, key, window)
        return self._checked(report, check)

    # Now and then

    def adopt(self, *tables: str, check: bool = True) -> RunReport:
        """Take over what the target holds: receipts and scope, nothing reloaded."""
        report = adopt(self._run("adopt"), self._chosen(tables), foreign=self._is_foreign())
        return self._checked(report, check)

    def forget(self, table: str, value: object) -> Scope:
        """Take a value out of the scope; its rows and files stay. The scope from now on."""
        return forget(self._run("forget"), self._chosen([table])[0], str(value))

    def clean(self, *, older_than_hours: float = HOURS_BEFORE_A_WORKSPACE_IS_DEAD, dry_run: bool = False) -> Cleaned:
        """Sweep what dead runs left in the lake's workspace, and old reports."""
        return clean(self._pipeline, older_than_hours=older_than_hours, dry_run=dry_run)

    def status(self, *tables: str, count_all: bool = False) -> list[TableStatus]:
        """Where every value stands, and what is pending."""
        with planning(self._pipeline) as planner:
            return [status_of(result) for result in planner.plan(self._chosen(tables), count_all=count_all)]

    def describe(self, table: str) -> dict[str, list[Section]]:
        """All that the catalogs of `source` and `target` tell of a table; nothing of one that cannot be seen."""
        return describe(self._pipeline, self._chosen([table])[0])

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
            "target": [*map(target.render, writes), *_besides(target, writes=True)],
        }

    def history(self, last: int = 20) -> list[dict[str, Any]]:
        """The reports of the newest runs, newest first."""
        with self._pipeline.target.connect("history", read_only=True) as session:
            ledger = Ledger(session)
            return ledger.reports(last) if ledger.exists() else []

    def report(self, path: str | Path = "tidegate-report.html") -> Path:
        """Write one self-contained HTML page: what ran, how fast, and what source, lake and target hold."""
        from tidegate.reports.facts import page_facts, without_secrets
        from tidegate.reports.html import write

        project = self.project
        places = {
            "source": project.source.display,
            "target": project.target.display,
            "lake": self._pipeline.lake.place,
        }
        now = datetime.now(UTC).isoformat(timespec="seconds")
        facts = page_facts(places, __version__, now, self.status(count_all=True), self.history(50))
        return write(without_secrets(facts, project.redactor().redact), Path(path))

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
        project = self.project
        return f"<Tidegate {project.source.display} -> {project.target.display}, {len(project.tables)} tables>"

    # Shared

    def _run(self, verb: str = "run") -> Run:
        return Run(self._pipeline, self._engine, verb, self._listener, self.boundary)

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
        if check and report.exit_code:
            failed = "; ".join(f"{table}: {problem.splitlines()[0]}" for table, problem in report.failures[:3])
            problem = RunFailed(
                f"{report.verb} {report.run}: {len(report.failures)} of its tables failed ({failed}).",
                "What was loaded before stands, each value whole.",
                "`report` of this error has every step; run again when the cause is gone.",
            )
            problem.report = report
            raise problem
        return report


def _besides(database: Database, *, writes: bool) -> list[str]:
    return [f"-- {what}: {database.render(one)}" for what, one in database.optional_grants(writes=writes).items()]


class TableSync:
    """One table of a project, with the same verbs."""

    def __init__(self, project: Tidegate, name: str) -> None:
        self._project, self.name = project, name

    def plan(self) -> Plan:
        return self._project.plan(self.name)

    def run(self, *, reload: bool = False, check: bool = True) -> RunReport:
        return self._project.run(self.name, reload=reload, check=check)

    def verify(self, *, deep: bool = False) -> RunReport:
        return self._project.verify(self.name, deep=deep)

    def repair(self, *, check: bool = True) -> RunReport:
        return self._project.repair(self.name, check=check)

    def backfill(self, from_: object, to: object, check: bool = True) -> RunReport:
        return self._project.backfill(self.name, from_, to, check)

    def load_versions(self, frame: Any, check: bool = True) -> RunReport:
        return self._project.load_versions(self.name, frame, check)

    def adopt(self, *, check: bool = True) -> RunReport:
        return self._project.adopt(self.name, check=check)

    def forget(self, value: object) -> Scope:
        return self._project.forget(self.name, value)

    def describe(self) -> dict[str, list[Section]]:
        return self._project.describe(self.name)

    def status(self, *, count_all: bool = False) -> TableStatus:
        return self._project.status(self.name, count_all=count_all)[0]

    def __repr__(self) -> str:
        return f"<TableSync {self.name} of {self._project!r}>"
