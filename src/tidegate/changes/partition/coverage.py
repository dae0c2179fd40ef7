"""How much of the source a partition table's scope covers. Reads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.changes.partition.plan import newest_values, settled_values
from tidegate.model.coverage import Coverage, Outside
from tidegate.model.scope import Scope
from tidegate.model.state import TableState

if TYPE_CHECKING:
    from tidegate.changes.partition import _PartitionTable


def coverage_of(settings: _PartitionTable, state: TableState, scope: Scope) -> Coverage:
    """Return which values of the source are outside of the scope, by the rule that leaves them out."""
    nulls = settings.values.nulls
    in_source, on_purpose = {value for value in state.source if not value.is_null}, nulls == "exclude"
    inside = {value for value in in_source if scope.covers(value)}
    forgotten = in_source & scope.forgotten
    # Without a floor and ranges nothing was ready yet: these values wait, no rule leaves them out.
    older = in_source - inside - forgotten if scope.floor is not None or scope.ranges else set()
    standing = {value for value, entry in state.ledger.items() if entry.is_active}
    known = {*settled_values(settings, state.source, state.ready), *standing, *state.lake}
    in_scope = sorted(value for value in known if scope.covers(value))
    newest = settings.retain.target
    # A value that still waits is not in `in_scope`: it is not beyond the retention either.
    beyond = inside & (set(in_scope) - set(newest_values(in_scope, newest)))
    rules = (
        Outside(_rule_of_the_floor(settings, state, scope), len(older)),
        Outside("values", state.excluded),
        Outside("forget", len(forgotten)),
        Outside(f"retain: {{target: {newest}}}", len(beyond)),
    )
    rows = f"{state.nulls:,} {'row has' if state.nulls == 1 else 'rows have'} no partition value and"
    uncovered = 0 if nulls in ("exclude", "load") else state.nulls
    besides = [value for value in state.target if value not in standing and value not in inside]
    return Coverage(
        total=len(in_source) + state.excluded,
        outside=tuple(rule for rule in rules if rule.count),
        excluded_rows=state.nulls if on_purpose else 0,
        uncovered_rows=uncovered,
        uncovered=f"{rows} {'is' if state.nulls == 1 else 'are'} not copied",
        remedy="correct them, load them by `values: {nulls: load}`, or say with `values: {nulls: exclude}` that they"
        " are left out on purpose",
        besides=tuple(value.text for value in sorted(besides)),
        is_empty=bool(in_source or state.excluded or state.nulls) and not state.target,
    )


def _rule_of_the_floor(settings: _PartitionTable, state: TableState, scope: Scope) -> str:
    if scope.floor is None:
        return "backfill: only its values are in scope"
    entry = state.ledger.get(scope.floor)
    if entry is not None and entry.kind == "adopted":
        return f"adopt: from {scope.floor} on"
    count = settings.initial_load_count
    return f"initial_load_count: {'all' if count is None else count}"
