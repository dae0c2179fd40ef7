"""The operator: a run, a verification, a repair or a backfill as a task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from tidegate.airflow.lineage import facets_of
from tidegate.api import Tidegate
from tidegate.errors import ConfigError, TidegateError, Unsupported
from tidegate.model.report import RunReport

FACETS = "tidegate_lineage"


class TidegateOperator(BaseOperator):
    """Runs Tidegate for tables of a project, and returns the report, as `--json` has it, for XCom.

    Args:
        config: the path of `tidegate.yml`. Its `${...}` come from the environment of the worker.
        tables: names or patterns; none means all.
        verb: `run`, `verify`, `repair` or `backfill`.
        from_, to: the first and the last value of a backfill.
        reload, deep: as the options of `tidegate run` and `tidegate verify`.
        engine: `spark` or `process`, instead of the configuration's.
    """

    template_fields: Sequence[str] = ("config", "tables", "verb", "from_", "to", "engine")

    def __init__(
        self,
        *,
        config: str = "tidegate.yml",
        tables: Sequence[str] = (),
        verb: Literal["run", "verify", "repair", "backfill"] = "run",
        from_: object = None,
        to: object = None,
        reload: bool = False,
        deep: bool = False,
        engine: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.config, self.tables, self.verb = config, tables, verb
        self.from_, self.to, self.reload, self.deep, self.engine = from_, to, reload, deep, engine

    def execute(self, context: Any) -> dict[str, Any]:
        """Return the report. Raises AirflowException when tables failed, so that Airflow tries again, and
        AirflowFailException for differences and for a wrong configuration, which no repetition cures."""
        try:
            with Tidegate.from_file(Path(self.config), engine=self.engine) as project:
                report = self._do(project)
                lineage = project.lineage_of(report)
        except (ConfigError, Unsupported) as problem:
            raise AirflowFailException(str(problem)) from None
        except TidegateError as problem:
            raise AirflowException(str(problem)) from None
        # Lists instead of tuples, which XCom would wrap.
        facts: dict[str, Any] = json.loads(json.dumps(report.to_dict()))
        context["ti"].xcom_push(key=FACETS, value=[facets_of(table) for table in lineage])
        self._tell_assets(context, report)
        if report.exit_code:
            # A failed task returns nothing: the report is there all the same.
            context["ti"].xcom_push(key="return_value", value=facts)
            kind = AirflowException if report.exit_code == 1 else AirflowFailException
            raise kind(_summary(report))
        return facts

    def _do(self, project: Tidegate) -> RunReport:
        if self.verb == "verify":
            return project.verify(*self.tables, deep=self.deep)
        if self.verb == "repair":
            return project.repair(*self.tables, check=False)
        if self.verb == "backfill":
            if len(self.tables) != 1 or self.from_ is None or self.to is None:
                raise ConfigError("A backfill needs one table, `from_` and `to`.", "Nothing was read or written.")
            return project.backfill(self.tables[0], self.from_, self.to, check=False)
        return project.run(*self.tables, reload=self.reload, check=False)

    def _tell_assets(self, context: Any, report: RunReport) -> None:
        """Add to the events of the task's assets what the run did."""
        events = context.get("outlet_events")
        for asset in self.outlets if events is not None else ():
            table = getattr(asset, "name", "").rsplit("/", 1)[-1]
            rows = sum(step.rows for step in report.steps if (step.table, step.step) == (table, "load"))
            events[asset].extra = {"run": report.run, "outcome": report.outcome, "rows_loaded": rows}

    # Called by the provider `openlineage` of Airflow, if it is installed.

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        from tidegate.airflow.lineage import operator_lineage

        return operator_lineage(task_instance.xcom_pull(task_ids=task_instance.task_id, key=FACETS) or [], self.verb)

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        return self.get_openlineage_facets_on_complete(task_instance)


def _summary(report: RunReport) -> str:
    problems = [f"{table}: {problem}" for table, problem in report.failures]
    problems += [
        f"{finding.table} {finding.value}: {finding.what}" for finding in report.findings if finding.severity == "error"
    ]
    return "\n".join([f"{report.verb} {report.run}: {report.outcome}", *problems[:20]])
