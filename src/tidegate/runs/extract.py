"""Extract: windows from a database into the lake, each inside of one task or several; the driver commits them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from tidegate.errors import Differences, LakeError, TidegateError
from tidegate.interfaces.check import Snapshot
from tidegate.interfaces.lake import Lake, LakeTable
from tidegate.interfaces.load import Load
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.plan import Extract
from tidegate.model.report import StepOutcome
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.tokens import PartitionToken
from tidegate.model.values import Value
from tidegate.runs.curate import curate, with_raw
from tidegate.runs.division import Window, divided, mark_of
from tidegate.runs.extract_split import Extracted, ExtractSplit, RequireLoadable
from tidegate.runs.order import in_order
from tidegate.runs.run import Job, Run, snapshot_of
from tidegate.spark.executor import SplitOutcome
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa

Entries = dict[tuple[str, Value], LakeEntry]
"""What this run extracted, by table and window."""


def extract(run: Run, ledger: Ledger, planned: Sequence[PlannedTable]) -> tuple[Entries, set[tuple[str, Value]]]:
    """Extract on one snapshot of the source for all tables. Return the new entries, and what could not be extracted."""
    windows = [
        _window(table, step) for table in planned if table.key not in run.failed for step in table.steps(Extract)
    ]
    extractor = Extractor(run, ledger)
    if not windows:
        return extractor.entries, extractor.failed
    run.pipeline.lake.begin(run.id)
    source = run.pipeline.source
    with ThreadPoolExecutor(run.pipeline.project.max_connections, "tidegate divide") as threads:
        windows = list(threads.map(lambda window: divided(window, source), windows))
    # A single reader needs no snapshot that others can read, and no session to hold it.
    readers = sum(len(window.requests) for window in windows)
    with snapshot_of(source) if readers > 1 else nullcontext(Snapshot()) as extractor.snapshot:
        for number, group in enumerate(in_order(windows, _priority, backwards=True)):
            extractor.extract(group, f"{number}")
    return extractor.entries, extractor.failed


def _window(planned: PlannedTable, step: Extract) -> Window:
    extraction = planned.table.change.extraction(planned.state, planned.plan.scope, step)
    return Window(planned, step, extraction, [extraction.request])


def _priority(window: Window, number: int) -> tuple[int, int]:
    table = window.planned.table
    return table.load_priority, number if table.change.serial_loads else 0


About = tuple[Window, int]
"""A window and the number of its part. Number 0 is the task in which the load checks all parts together."""


@dataclass
class Extractor:
    """The extractions of one run, and their outcomes so far."""

    run: Run
    ledger: Ledger
    snapshot: Snapshot = field(default_factory=Snapshot)
    entries: Entries = field(default_factory=dict)
    failed: set[tuple[str, Value]] = field(default_factory=set)

    def extract(self, windows: Sequence[Window], name: str) -> None:
        """Read windows and commit each as soon as its tasks are done. Read again what was not read alike."""
        left, round_ = list(windows), 0
        while left:
            round_ += 1
            jobs, again = list[Job[About]](), list[Window]()
            for number, window in enumerate(left):
                try:
                    jobs += self._jobs(window, f"{name}-{round_}-{number}")
                except LakeError as problem:
                    window.error = problem
                    self._commit(window)
            self.run.run_jobs("extract", jobs, partial(self._finished, again), windows=len(left))
            left = again

    def _jobs(self, window: Window, name: str) -> list[Job[About]]:
        rows = window.step.rows
        each = None if rows is None else rows // len(window.requests)
        parts = window.missing
        window.running = max(len(parts), 1)
        if not parts:
            return [Job((window, 0), self._question(window), 0)]
        lake = self.run.pipeline.lake.prepared(_place_of(window), _schema(window.requests[0]))
        return [Job((window, part), self._split(window, part, f"{name}.{part}", lake), each) for part in parts]

    def _split(self, window: Window, part: int, name: str, lake: Lake) -> ExtractSplit:
        planned, step, pipeline = window.planned, window.step, self.run.pipeline
        from_target = window.extraction.from_target
        return ExtractSplit(
            database=pipeline.target if from_target else pipeline.source,
            extraction=window.extraction,
            request=window.requests[part - 1],
            snapshot=Snapshot() if from_target else self.snapshot,
            lake=lake,
            table=_place_of(window),
            load=planned.table.load,
            name=name,
            run_id=self.run.id,
            window=step.value.text,
            why=step.why,
            scope=planned.plan.scope.to_json(),
            part=part,
            parts=len(window.requests),
            naming_keys=planned.table.naming_keys,
        )

    def _question(self, window: Window) -> RequireLoadable:
        table = window.planned.table
        parts = window.extracted().parts
        return RequireLoadable(self.run.pipeline.lake, _place_of(window), table.load, window.requests[0], parts)

    def _finished(self, again: list[Window], job: Job[About], outcome: SplitOutcome) -> None:
        window, part = job.about
        window.take(part, outcome)
        if window.running:
            return
        try:
            if window.error is None and self._has_to_go_on(window):
                again.append(window)
                return
        except TidegateError as problem:
            window.error = problem
        self._commit(window)

    def _has_to_go_on(self, window: Window) -> bool:
        """Return whether another round must read parts again, or ask the load about the rows of all of them."""
        if not window.is_divided:
            return False
        if window.read_again_as_text():
            return True
        if window.mark and window.mark != mark_of(window, self.run.pipeline.source):
            window.read_again_as_a_whole()
            return True
        load = type(window.planned.table.load)
        return load.require_loadable is not Load.require_loadable and not window.is_checked

    def _commit(self, window: Window) -> None:
        outcome = self._committed(window)
        self.run.note(outcome)
        if outcome.outcome == "failed":
            self.failed.add((window.planned.key, window.step.value))

    def _committed(self, window: Window) -> StepOutcome:
        """Commit what the tasks wrote, and remember its etag where no load will."""
        planned, step = window.planned, window.step
        why = f"{step.why}; {len(window.requests)} tasks" if window.is_divided else step.why
        seconds = window.elapsed(self.run.pipeline.project.max_connections)
        outcome = StepOutcome(planned.key, "extract", step.value.text, why, "done", seconds=seconds)
        outcome = replace(outcome, cpu_seconds=round(window.cpu_seconds, 3), memory=window.memory)
        if window.error is not None:
            return replace(outcome, outcome="failed", error=str(window.error))
        extracted = window.extracted()
        outcome = replace(outcome, rows=extracted.receipt.rows, bytes=extracted.bytes)
        if not extracted.receipt.rows and step.rows:
            return replace(outcome, outcome="failed", error=str(_rows_left(window)))
        try:
            table, text = planned.table, step.value.text
            entry, is_ours = self._publish(window, extracted)
            self.entries[planned.key, step.value] = entry
            self.run.boundary("published")
            known = planned.state.ledger.get(step.value)
            if is_ours and known is not None and _has_same_rows(known, entry):
                described = ("etag", "token", "columns", "columns_id", "storage_types")
                changes = {name: getattr(entry, name) for name in described}
                self.ledger.update_etag(table.ledger_name, text, replace(known, **changes))
        except TidegateError as problem:
            return replace(outcome, outcome="failed", error=str(problem))
        return outcome

    def _publish(self, window: Window, extracted: Extracted) -> tuple[LakeEntry, bool]:
        """Commit the rows, and what the transform of their table makes of them. Return the entry that is loaded."""
        planned, step, lake = window.planned, window.step, self.run.pipeline.lake
        table, text, facts = planned.table, step.value.text, extracted.facts
        if table.transform is None:
            return lake.commit(table.lake_table, text, extracted.parts, step.replaces, facts)
        if window.extraction.from_target:  # these rows are transformed already
            known = planned.state.ledger[step.value].token
            raw_hash = known.raw_hash if isinstance(known, PartitionToken) else ""
            facts = replace(facts, token=with_raw(facts.token, raw_hash))
            return lake.commit(table.lake_table, text, extracted.parts, step.replaces, facts)
        raw, _ = lake.commit(_place_of(window), text, extracted.parts, facts=facts)
        self.run.boundary("raw published")
        return curate(self.run, planned, step, raw, facts)


def _place_of(window: Window) -> LakeTable:
    """Return where the lake keeps the rows as they are read."""
    table = window.planned.table
    is_raw = table.raw_lake_table is not None and not window.extraction.from_target
    return table.raw_lake_table if is_raw and table.raw_lake_table is not None else table.lake_table


def _schema(request: ReadRequest) -> pa.Schema:
    from tidegate.hashing.arrow import arrow_schema

    return arrow_schema(request.columns, request.text_columns)


def _rows_left(window: Window) -> Differences:
    key, step = window.planned.key, window.step
    return Differences(
        f"{key} {step.value}: the source counted {step.rows:,} rows and none arrived: they left.",
        "The lake and the target keep what they had.",
        "Run again: a value that the source purged stays as it is.",
    )


def _has_same_rows(known: LedgerEntry, entry: LakeEntry) -> bool:
    """Return whether no load follows: a renamed column has the same values, and the target does not have it."""
    is_alike = not known.columns or known.columns == entry.columns
    return known.is_active and known.hash == entry.hash and is_alike
