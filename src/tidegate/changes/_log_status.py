"""The status of a table that the lake keeps as a log: its windows, and how many rows the target holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tidegate.model.explain import explain
from tidegate.model.plan import Extract, Load, Notice
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.status import BatchStatus, WholeStatus
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE
from tidegate.tables.planned import PlannedTable


class LogState(Protocol):
    """What is asked of the state of such a table."""

    @property
    def lake(self) -> Mapping[Value, LakeEntry]: ...

    @property
    def ledger(self) -> Mapping[Value, LedgerEntry]: ...

    @property
    def target_rows(self) -> int | None: ...

    @property
    def expected_rows(self) -> int | None: ...


def whole_status(planned: PlannedTable, seen: LogState, whole: Value = WHOLE_TABLE) -> WholeStatus:
    """Return the status of all windows together."""
    newest = max(seen.ledger.values(), default=None, key=lambda entry: entry.at)
    steps = [step for step in planned.plan.steps if not isinstance(step, Notice)]
    return WholeStatus(
        value=whole.text,
        state=_state(seen, bool(steps)),
        target_rows=seen.target_rows or 0,
        generation=newest.generation if newest else 0,
        loaded_at=newest.at if newest else "",
        next=tuple(explain(step, planned.plan.labels) for step in steps if isinstance(step, (Extract, Load))),
    )


def _state(seen: LogState, has_steps: bool) -> str:
    active = [entry for entry in seen.ledger.values() if entry.is_active]
    if not active:
        return "pending"
    if seen.target_rows is None:
        return "missing"
    if seen.expected_rows not in (None, seen.target_rows):
        return "differs"
    adopted = all(entry.kind == "adopted" for entry in active)
    return "pending" if has_steps else "adopted" if adopted else "proven"


def window_status(seen: LogState, name: Value, after: str, upto: str) -> BatchStatus:
    """Return the status of one window, which reads from `after` to `upto`."""
    file, entry = seen.lake.get(name), seen.ledger.get(name)
    loaded = entry is not None and entry.is_active
    return BatchStatus(
        batch=name.text,
        state="broken" if file is not None and file.broken else "proven" if loaded else "pending",
        after=after,
        upto=upto,
        rows=file.rows if file is not None and not file.broken else None,
        generation=entry.generation if entry else 0,
        loaded_at=entry.at if entry else "",
    )
