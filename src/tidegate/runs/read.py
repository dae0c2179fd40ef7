"""Read: what planning could not know without reading many rows is read inside of tasks, and planned then."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.plan import Read
from tidegate.model.report import StepOutcome
from tidegate.runs.plan import Planner
from tidegate.runs.run import Job, Run
from tidegate.spark.executor import SplitOutcome
from tidegate.tables.planned import Ask, FailedTable, PlannedTable

READ = "read"


def read_first(
    run: Run, planner: Planner, results: Sequence[PlannedTable | FailedTable], ask: Ask
) -> list[PlannedTable | FailedTable]:
    """Do the steps `Read` of all tables. Return the tables in their order, with the steps that follow."""
    pipeline = run.pipeline
    jobs = [
        Job(table, table.table.change.reading(pipeline.source, pipeline.target, table.state), step.rows)
        for table in results
        if isinstance(table, PlannedTable)
        for step in table.steps(Read)
    ]
    if not jobs:
        return list(results)
    replanned: dict[str, PlannedTable | FailedTable] = {}

    def finished(job: Job[PlannedTable], outcome: SplitOutcome) -> None:
        replanned[job.about.key] = _replanned(run, planner, job.about, outcome, ask)

    run.run_jobs(READ, jobs, finished)
    return [replanned.get(result.key, result) for result in results]


def _replanned(
    run: Run, planner: Planner, planned: PlannedTable, outcome: SplitOutcome, ask: Ask
) -> PlannedTable | FailedTable:
    table, [step] = planned.table, planned.steps(Read)
    noted = StepOutcome(planned.key, READ, step.value.text, step.why, "done", outcome.rows, seconds=outcome.seconds)
    if outcome.error is not None:
        return FailedTable(planned.key, outcome.error, table, planned.state)
    run.note(noted)
    return planner.steps_of(table, table.change.with_reading(planned.state, outcome.result), ask)
