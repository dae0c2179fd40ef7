"""Where a table of versions stands: which mark it reaches, in which batches, and how many versions the target holds."""

from __future__ import annotations

from tidegate.changes.mark import ALL, MarkEvidence, Window, reach
from tidegate.model.plan import Land, Load, Notice
from tidegate.model.status import BatchStatus, VersionsStatus, WholeStatus
from tidegate.model.values import Value
from tidegate.runs.explainer import explain
from tidegate.runs.planned import Planned
from tidegate.runs.standing import standing


def status(one: Planned) -> VersionsStatus:
    seen = one.evidence
    assert isinstance(seen, MarkEvidence)
    reached = reach(seen.in_ledger.values(), one.plan.scope.floor)
    return standing(
        VersionsStatus,
        one,
        [_whole(one, seen)] if seen.ledger or seen.newest is not None else [],
        reaches=reached.text if reached else "",
        newest=seen.newest.text if seen.newest and not seen.is_whole else "",
        is_whole=seen.is_whole,
        batches=tuple(_batch(seen, batch) for batch in sorted({*seen.lake, *seen.ledger} - {ALL})),
    )


def _whole(one: Planned, seen: MarkEvidence) -> WholeStatus:
    newest = max(seen.ledger.values(), default=None, key=lambda entry: entry.at)
    steps = [step for step in one.plan.steps if not isinstance(step, Notice)]
    return WholeStatus(
        value=ALL.text,
        state=_state(seen, bool(steps)),
        target_rows=seen.held or 0,
        generation=newest.generation if newest else 0,
        loaded_at=newest.at if newest else "",
        next=tuple(explain(step, one.plan.kind) for step in steps if isinstance(step, (Land, Load))),
    )


def _state(seen: MarkEvidence, planned: bool) -> str:
    standing = [entry for entry in seen.ledger.values() if entry.stands]
    if not standing:
        return "pending"
    if seen.held is None:
        return "missing"
    if seen.held_before not in (None, seen.held):
        return "differs"
    adopted = all(entry.kind == "adopted" for entry in standing)
    return "pending" if planned else "adopted" if adopted else "proven"


def _batch(seen: MarkEvidence, batch: Value) -> BatchStatus:
    file, entry = seen.lake.get(batch), seen.ledger.get(batch)
    window = seen.in_lake.get(batch) or seen.in_ledger.get(batch) or Window(None, None, None)
    loaded = entry is not None and entry.stands
    return BatchStatus(
        batch=batch.text,
        state="broken" if file is not None and file.broken else "proven" if loaded else "pending",
        after=window.after.text if window.after else "",
        upto=window.upto.text if window.upto else "",
        rows=file.rows if file is not None and not file.broken else None,
        generation=entry.generation if entry else 0,
        loaded_at=entry.at if entry else "",
    )
