"""The phases of a run: change schemas, land, load, remove. Each turns steps into outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeAlias, TypeVar

from tidegate.errors import Differences, TidegateError
from tidegate.lakes.parquet import stamp_of
from tidegate.model.columns import fingerprint
from tidegate.model.evidence import LedgerEntry
from tidegate.model.plan import EXCHANGED, ChangeSchema, Land, Load, Remove
from tidegate.model.report import StepOutcome
from tidegate.model.values import Value
from tidegate.runs.kinds import kind_of
from tidegate.runs.kinds.kind import RemovingKind, TableKind
from tidegate.runs.landing import LandSlice
from tidegate.runs.planned import Planned
from tidegate.runs.work import Job, Snapshot, Work, guarded, outcome_of, run_jobs, snapshot_of, steps_of
from tidegate.spark.slices import Facts
from tidegate.sql.text import raw

MoveStep = TypeVar("MoveStep", Land, Load)
Exchanges: TypeAlias = Mapping[str, frozenset[Value]]
"""Values by table, between which rows went from one to another: they have to be loaded in one transaction."""


def _kind(one: Planned) -> TableKind:
    return kind_of(one.table.common)


def _in_order(
    steps: Iterable[tuple[Planned, MoveStep]], *, backwards: bool = False
) -> Iterator[list[tuple[Planned, MoveStep]]]:
    """One kind of table after the other: loads in their order, extracts backwards. Of some tables also one step after
    the other."""
    placed, seen = [], Counter[str]()
    for one, step in steps:
        kind = _kind(one)
        singly = kind.loads_singly(one) if isinstance(step, Load) else kind.one_at_a_time
        placed.append(((kind.loads_in, seen[one.key] if singly else 0), (one, step)))
        seen[one.key] += 1
    placed.sort(key=lambda item: item[0], reverse=backwards)
    for _, some in groupby(placed, key=lambda item: item[0]):
        yield [pair for _, pair in some]


def change_schemas(work: Work, planned: list[Planned]) -> None:
    """DDL of every table, and the scope that it declares; a table whose DDL fails is left out of the run."""
    for one in planned:
        for step in one.plan.steps:
            if isinstance(step, ChangeSchema):
                guarded(work, one.key, step, partial(_apply, work, step))
        if one.key not in work.failed and one.plan.does_something:
            work.declare(one.table, one.plan.scope, one.evidence.scope_copies)
        work.boundary("schema changed")


def restore_scopes(work: Work, planned: list[Planned]) -> None:
    """Write again the copies of scopes that got lost, also of tables that have nothing else to do.

    A lake that is lost takes its copies along. Without a new one, the ledger could not be rebuilt when it is lost
    next."""
    for one in planned:
        seen = one.evidence
        if seen.is_ours:
            try:
                work.declare(one.table, one.plan.scope if seen.scope is None else seen.scope, seen.scope_copies)
            except TidegateError as problem:
                work.failed.setdefault(one.key, str(problem))


def mark_dropped_columns(work: Work, planned: list[Planned]) -> None:
    """Write into the ledger which columns have left the source: one that comes back under the same name is another."""
    for one in planned:
        entries = one.evidence.ledger
        marked = {value: one.evidence.without_dropped(entry) for value, entry in entries.items() if entry.stands}
        changed = {value: entry for value, entry in marked.items() if entry != entries[value]}
        if not changed:
            continue
        try:
            with work.control.transaction():
                for value, entry in changed.items():
                    work.ledger.restamp(one.table.ledger_name, value.text, entry)
        except TidegateError as problem:
            work.failed[one.key] = str(problem)


def _apply(work: Work, step: ChangeSchema) -> int:
    with work.control.transaction():
        for statement in step.statements:
            work.control.execute(raw(statement))
    return 0


# Land


def land(work: Work, planned: list[Planned]) -> set[tuple[str, Value]]:
    """Extracts on one snapshot of the source for all tables. Returns what could not be landed."""
    steps = [(one, step) for one in planned if one.key not in work.failed for step in steps_of(one, Land)]
    if not steps:
        return set()
    failed: set[tuple[str, Value]] = set()
    work.lake.prepare(work.run)

    def finished(job: Job, facts: Facts) -> None:
        outcome = _landed(work, job, facts)
        work.note(outcome)
        if outcome.outcome == "failed":
            failed.add((job.one.key, job.step.value))

    # A single reader needs no snapshot that others can read, and no session to hold it.
    with snapshot_of(work.source) if len(steps) > 1 else nullcontext(Snapshot()) as snapshot:
        for some in _in_order(steps, backwards=True):
            jobs = [
                Job(one, step, _kind(one).land_slice(work, one, step, snapshot, f"{_kind(one).loads_in}-{number}"))
                for number, (one, step) in enumerate(some)
            ]
            run_jobs(work, "land", jobs, finished)
    return failed


def _landed(work: Work, job: Job, facts: Facts) -> StepOutcome:
    """Publish what a task wrote, and remember it where no load will."""
    step = job.step
    assert isinstance(step, Land)
    outcome = outcome_of(job, facts)
    if outcome.outcome == "failed":
        return outcome
    if not facts["rows"] and step.rows:
        return replace(outcome, outcome="failed", error=str(_left_meanwhile(job)))
    try:
        *before, (written, place) = _kind(job.one).published(work, job.one, step.value, facts)
        for other, its_place in before:
            work.lake.publish(other, its_place, "")
        published = work.lake.publish(written, place, step.replaces)
        work.landed[job.one.key, step.value] = place
        work.boundary("published")
        entry = job.entry()
        if (
            published
            and _kind(job.one).known_by_stamp
            and entry is not None
            and entry.stands
            and entry.hash == facts["hash"]
        ):
            _restamp(work, job, entry, stamp_of(place), facts)
    except TidegateError as problem:
        return replace(outcome, outcome="failed", error=str(problem))
    return outcome


def _left_meanwhile(job: Job) -> Differences:
    return Differences(
        f"{job.one.key} {job.step.value}: the source counted {job.step.rows:,} rows and none arrived: they left.",
        "The lake and the target keep what they had.",
        "Run again: a value that the source purged stays as it is.",
    )


def _restamp(work: Work, job: Job, entry: LedgerEntry, stamp: str, facts: Facts) -> None:
    assert isinstance(job.slice, LandSlice)
    columns = job.slice.request.columns
    known = replace(
        entry,
        stamp=stamp,
        newest=facts["newest"],
        columns=tuple(column.name for column in columns),
        columns_id=fingerprint(columns),
        storage_types=tuple(column.rests_as for column in columns),
    )
    work.ledger.restamp(job.table.ledger_name, job.step.value.text, known)


# Load


def load(work: Work, planned: list[Planned], not_landed: set[tuple[str, Value]]) -> Exchanges:
    """Each value in its own transaction, as many at once as there are connections to use. Returns values that were
    refused, with those that hold their keys."""
    steps = [(one, step) for one in planned for step in steps_of(one, Load) if (one.key, step.value) not in not_landed]
    steps = [(one, step) for one, step in steps if not _failed(work, one, "change schema")]
    exchanges: dict[str, frozenset[Value]] = {}
    for some in _in_order(steps):
        jobs = [_load_job(work, one, [step]) for one, step in some if not _waits(work, one)]
        exchanges = {**exchanges, **_run_loads(work, jobs, exchanges, {})}
    return exchanges


def load_together(
    work: Work, planned: list[Planned], not_landed: set[tuple[str, Value]], asked: Exchanges
) -> Exchanges:
    """All values of a table in one transaction. Returns those that were refused again, with further values that hold
    their keys; `asked` is what was returned before."""
    units = [(one, sorted(steps_of(one, Load), key=lambda step: step.value)) for one in planned]
    landed = [(one, unit) for one, unit in units if not {(one.key, step.value) for step in unit} & not_landed]
    return _run_loads(work, [_load_job(work, one, unit) for one, unit in landed if unit], {}, asked)


def _run_loads(work: Work, jobs: list[Job], found: Exchanges, asked: Exchanges) -> Exchanges:
    exchanges = dict(found)

    def finished(job: Job, facts: Facts) -> None:
        values = _exchanging(job, facts) | asked.get(job.one.key, frozenset())
        if joined := values - asked.get(job.one.key, frozenset()):
            exchanges[job.one.key] = exchanges.get(job.one.key, frozenset()) | values
        for part, own in job.each(facts):
            outcome = outcome_of(part, own)
            if joined:
                outcome = replace(outcome, outcome="skipped", why=f"{outcome.why}; {EXCHANGED}", error="")
            elif own.get("result") in ("equal already", "done before"):
                outcome = replace(outcome, outcome="skipped", why=f"{outcome.why}; the target holds it already")
            elif own.get("detail"):
                outcome = replace(outcome, why=f"{outcome.why}; {own['detail']}")
            work.note(outcome)
            work.boundary("loaded")

    if jobs:
        run_jobs(work, "load", jobs, finished)
    return exchanges


def _exchanging(job: Job, facts: Facts) -> frozenset[Value]:
    """The values of a job that was refused because of a key, and those that hold such keys. None where a value is in
    the way that no load of this run can replace."""
    if "held_by" not in facts:
        return frozenset()
    others = [job.table.value(text) for text in facts["held_by"]]
    if not all(_is_replaceable(job.one, value) for value in others):
        return frozenset()
    return frozenset([*others, *(step.value for step in job.steps)])


def _is_replaceable(one: Planned, value: Value) -> bool:
    """Whether the source has the value and Tidegate loads it; or whether this run removes it."""
    if any(step.value == value and step.side == "target" for step in steps_of(one, Remove)):
        return True
    entry = one.evidence.ledger.get(value)
    is_ours = (entry is not None and entry.stands) or any(step.value == value for step in steps_of(one, Load))
    return is_ours and value in one.evidence.source


def _waits(work: Work, one: Planned) -> bool:
    """Where one comes after the other, none comes after one that failed: it would look as if all were there."""
    return _kind(one).one_at_a_time and _failed(work, one, "load")


def _load_job(work: Work, one: Planned, steps: Sequence[Load]) -> Job:
    kind = _kind(one)
    parts = [kind.load_slice(work, one, step, _file(work, one, step)) for step in steps]
    return Job(one, steps[0], kind.in_one_transaction(one, parts), tuple(steps[1:]))


def _file(work: Work, one: Planned, step: Load) -> Path:
    return work.landed.get((one.key, step.value)) or Path(one.evidence.lake[step.value].path)


# Remove


def remove(work: Work, planned: list[Planned]) -> None:
    """Values that a retention rule takes away, one transaction each."""
    for one in planned:
        kind = _kind(one)
        if one.key not in work.failed and isinstance(kind, RemovingKind):
            for step in steps_of(one, Remove):
                guarded(work, one.key, step, partial(kind.remove, work, one, step))
                work.boundary("removed")


def _failed(work: Work, one: Planned, step: str) -> bool:
    return any((outcome.table, outcome.step, outcome.outcome) == (one.key, step, "failed") for outcome in work.outcomes)
