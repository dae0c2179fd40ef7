"""The shell of a run: jobs, steps in this process, the order of steps, and the report."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tidegate.config.secrets import Redactor
from tidegate.errors import LakeError
from tidegate.interfaces.worker import Worker
from tidegate.model.plan import ChangeSchema, Remove
from tidegate.model.report import StepOutcome
from tidegate.model.values import Value, ValueKind
from tidegate.runs.listener import Boundary, Listener
from tidegate.runs.order import in_order
from tidegate.runs.run import Job, Pipeline, Run
from tidegate.spark.engine import ProcessEngine
from tidegate.spark.executor import SplitOutcome


class Heard(Listener):
    """Writes down what a run tells."""

    def __init__(self) -> None:
        self.phases: list[tuple[str, int, int | None]] = []
        self.steps: list[StepOutcome] = []
        self.ended = 0

    def phase(self, name: str, splits: int, rows: int | None) -> None:
        self.phases.append((name, splits, rows))

    def step(self, outcome: StepOutcome) -> None:
        self.steps.append(outcome)

    def phase_ended(self) -> None:
        self.ended += 1


class Reached(Boundary):
    def __init__(self) -> None:
        self.places: list[str] = []

    def __call__(self, place: str) -> None:
        self.places.append(place)


def new_run(**parts: Any) -> Run:
    project = SimpleNamespace(
        max_connections=2,
        error_threshold=0.0,
        tables={},
        fingerprints=lambda tables: {},
        redactor=lambda: Redactor([]),
    )
    pipeline = Pipeline(cast(Any, project), cast(Any, None), cast(Any, None), cast(Any, None))
    return Run(pipeline, ProcessEngine(), **parts)


@dataclass(frozen=True)
class Doubles:
    number: int

    def run(self, worker: Worker) -> int:
        if self.number == 3:
            raise LakeError("no room")
        worker.progress.add(self.number)
        return self.number * 2


def test_jobs_return_with_what_they_are_about():
    """Each job is handed back once, with its result or its error; the phase, its rows and its end are told."""
    heard, reached = Heard(), Reached()
    run = new_run(listener=heard, boundary=reached)
    found: dict[str, SplitOutcome] = {}

    jobs = [Job(f"job {number}", Doubles(number), number) for number in (1, 2, 3)]
    run.run_jobs("extract", jobs, lambda job, outcome: found.update({job.about: outcome}))

    assert {about: outcome.result for about, outcome in found.items()} == {"job 1": 2, "job 2": 4, "job 3": None}
    assert isinstance(found["job 3"].error, LakeError)
    assert (heard.phases, heard.ended, reached.places) == ([("extract", 3, 6)], 1, ["extract done"])
    assert run.engine.name == "process"
    assert set(run.timings) == {"spark start", "extract"}


def test_unknown_row_counts_give_no_total():
    heard = Heard()
    run = new_run(listener=heard)
    run.run_jobs("verify", [Job("a", Doubles(1), 1), Job("b", Doubles(2))], lambda job, outcome: None)
    assert heard.phases == [("verify", 2, None)]


def test_a_step_of_this_process_is_noted():
    """A step that fails is noted with its error, and makes its table a failed one."""
    run = new_run()

    def fails() -> int:
        raise LakeError("no room")

    run.do("trades", ChangeSchema(("ALTER TABLE t",), "new column"), lambda: 0)
    run.do("trades", Remove(Value.of(7, ValueKind.INTEGER), "lake", "beyond `retain`"), fails)

    assert [(done.step, done.value, done.outcome) for done in run.outcomes] == [
        ("change schema", "", "done"),
        ("remove", "7", "failed"),
    ]
    assert run.failed == {"trades": "no room"}
    assert run.has_failed("trades", "remove")
    assert not run.has_failed("trades", "change schema")


def test_report_carries_what_the_run_gathered():
    run = new_run(verb="verify")
    run.note(StepOutcome("trades", "extract", "7", "new in the source", "done", rows=5, bytes=9))
    run.note(StepOutcome("trades", "load", "7", "new in the source", "done", rows=5))
    run.note(StepOutcome("prices", "load", "7", "new in the source", "failed", error="no room"))

    report = run.report("failed", 1)

    assert (report.run, report.verb, report.outcome, report.exit_code) == (run.id, "verify", "failed", 1)
    assert (report.rows_extracted, report.rows_loaded, report.bytes_extracted) == (5, 5, 9)
    assert report.failures == (("prices", "no room"),)
    assert report.engine == "process"


# The order of steps


@dataclass(frozen=True)
class Step:
    table: str
    priority: int
    is_serial: bool = False

    @property
    def planned(self) -> SimpleNamespace:
        return SimpleNamespace(key=self.table)


def priority(step: Step, number: int) -> tuple[int, int]:
    return step.priority, number if step.is_serial else 0


@pytest.mark.parametrize(
    ("backwards", "groups"),
    [(False, [["currencies"], ["trades", "trades"]]), (True, [["trades", "trades"], ["currencies"]])],
    ids=["loads", "extracts"],
)
def test_reference_data_is_loaded_first_and_extracted_last(backwards: bool, groups: list[list[str]]):
    steps = [Step("trades", 3), Step("currencies", 1), Step("trades", 3)]
    found = in_order(steps, priority, backwards=backwards)
    assert [[step.table for step in group] for group in found] == groups


def test_serial_steps_of_one_table_follow_each_other():
    """Two tables go side by side, the windows of each one after the other."""
    steps = [Step("a", 2, True), Step("a", 2, True), Step("b", 2, True)]
    assert [[step.table for step in group] for group in in_order(steps, priority)] == [["a", "b"], ["a"]]
