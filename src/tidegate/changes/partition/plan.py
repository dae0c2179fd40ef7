"""Plan a partition table: from what source, lake, target and ledger hold, decide what each value needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from tidegate.errors import ForeignTarget
from tidegate.model.plan import DAILY, Extract, Load, Notice, Remove, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry, TableState
from tidegate.model.values import Value


class Retention(Protocol):
    @property
    def target(self) -> int | None: ...

    @property
    def lake(self) -> int | None: ...


class PartitionRules(Protocol):
    """The settings of a partition table that planning asks for."""

    @property
    def initial_load_count(self) -> int | None: ...

    @property
    def look_back(self) -> int: ...

    @property
    def hold_back(self) -> int: ...

    @property
    def restatement(self) -> str: ...

    @property
    def restatement_column(self) -> str | None: ...

    @property
    def on_target_change(self) -> str: ...

    @property
    def retain(self) -> Retention: ...


def settled_values(rules: PartitionRules, source: Iterable[Value], ready: frozenset[Value] | None) -> list[Value]:
    """The source's values in order, without the newest `hold_back` and without those that are not ready.

    Rows without a value wait for nothing."""
    nulls, ordered = _nulls_first(source)
    kept = ordered[: max(len(ordered) - rules.hold_back, 0)]
    return [*nulls, *(value for value in kept if ready is None or value in ready)]


def newest_values(settled: Iterable[Value], count: int | None) -> list[Value]:
    """Return the newest of these values in order; all of them without a count. Null is no value and not counted."""
    nulls, ordered = _nulls_first(settled)
    return [*nulls, *(ordered if count is None else ordered[len(ordered) - min(count, len(ordered)) :])]


def _nulls_first(values: Iterable[Value]) -> tuple[list[Value], list[Value]]:
    ordered = sorted(values)
    return [value for value in ordered if value.is_null], [value for value in ordered if not value.is_null]


def scope_for(rules: PartitionRules, state: TableState, request: Request) -> Scope:
    """The declared scope, set by the first run and widened by backfills."""
    scope = state.scope if state.scope is not None else _scope_told_by_ledger(state)
    if request.between is not None:
        return scope.with_range(*request.between)
    _, settled = _nulls_first(settled_values(rules, state.source, state.ready))
    if scope.floor is None and settled:
        return Scope(newest_values(settled, rules.initial_load_count)[0], scope.ranges, scope.forgotten)
    return scope


def _scope_told_by_ledger(state: TableState) -> Scope:
    """Rebuild a scope of which both copies are lost: ranges of values that were loaded, without the source's values
    between them that were not."""
    loaded = {value for value, entry in state.ledger.items() if entry.is_active}
    forgotten = frozenset(value for value, entry in state.ledger.items() if entry.kind == "forgotten")
    ranges: list[tuple[Value, Value]] = []
    _, known = _nulls_first({*state.source, *loaded} - forgotten)
    for is_loaded, some in groupby(known, key=loaded.__contains__):
        if is_loaded:
            first, *others = some
            ranges.append((first, others[-1] if others else first))
    return Scope(None, tuple(ranges), forgotten)


def plan(rules: PartitionRules, state: TableState, request: Request = DAILY) -> tuple[Scope, list[Step]]:
    """The scope from now on, and the steps in their order."""
    scope = scope_for(rules, state, request)
    planner = _Planner(rules, state, request, scope)
    return scope, planner.steps()


@dataclass
class _Planner:
    rules: PartitionRules
    state: TableState
    request: Request
    scope: Scope
    settled: list[Value] = field(init=False)
    held_back: set[Value] = field(init=False)
    in_scope: list[Value] = field(init=False)

    def __post_init__(self) -> None:
        self.settled = settled_values(self.rules, self.state.source, self.state.ready)
        self.held_back = set(self.state.source) - set(self.settled)
        standing = {value for value, entry in self.state.ledger.items() if entry.is_active}
        known = {*self.settled, *standing, *self.state.lake}
        self.in_scope = sorted(value for value in known if self.scope.covers(value))

    def steps(self) -> list[Step]:
        extracts: list[Step] = []
        loads: list[Step] = []
        notices = self._general_notices()
        self._refuse_a_target_that_was_there_before()
        for value in self._wanted():
            extract = self._extract(value)
            load, notice = self._load(value, extract)
            extracts += [extract] if extract else []
            loads += [load] if load else []
            notices += [notice] if notice else []
        return [*extracts, *loads, *self._removals(), *notices]

    # Which values

    def _wanted(self) -> list[Value]:
        kept = self._kept(self.rules.retain.target)
        wanted = [value for value in self.in_scope if value in kept]
        if self.request.between is not None:
            low, high = self.request.between
            return [value for value in wanted if low <= value <= high]
        return [value for value in wanted if self.request.reload is None or value in self.request.reload]

    def _kept(self, newest: int | None) -> set[Value]:
        return set(newest_values(self.in_scope, newest))

    # The lake

    def _extract(self, value: Value) -> Extract | None:
        file = self.state.lake.get(value)
        why = self._why_extract(value, file, self.state.ledger.get(value))
        if not why:
            return None
        replaces = file.etag if file else ""
        if value in self.settled:
            source = self.state.source[value]
            return Extract(value, why, rows=source.rows, replaces=replaces)
        entry = self.state.ledger.get(value)
        whole = value in self.state.target and entry is not None and not self._lost_rows(value, entry)
        if whole and value not in self.held_back:
            return Extract(value, f"{why}, and no longer in the source", origin="target", replaces=replaces)
        return None

    def _asked_for(self, value: Value) -> bool:
        return self.request.reload_all or (self.request.reload is not None and value in self.request.reload)

    def _why_extract(self, value: Value, file: LakeEntry | None, entry: LedgerEntry | None) -> str:
        if self._asked_for(value) and value in self.settled:
            return self.request.why
        if file is not None and file.broken:
            return f"its file cannot be used: {file.broken}"
        known = file or (entry if entry is not None and entry.is_active else None)
        if known is None:
            return "new in the source"
        if value in self.settled and self.state.has_other_columns(known):
            return "it was extracted with other columns"
        without_file = self._why_extract_again(value, entry) if file is None and entry is not None else ""
        return without_file or self._restated(value, file, entry)

    def _why_extract_again(self, value: Value, entry: LedgerEntry) -> str:
        """Its file is not there. What was adopted, or is beyond the lake's retention, needs none while all is well."""
        if lost := self._lost_rows(value, entry):
            return lost
        expected = entry.kind != "adopted" and value in self._kept(self.rules.retain.lake)
        return "missing in the lake" if expected else ""

    def _restated(self, value: Value, file: LakeEntry | None, entry: LedgerEntry | None) -> str:
        """Compared with what was extracted; a value outside of the look-back was not counted and never differs."""
        source, known = self.state.source.get(value), file or entry
        if source is None or source.rows is None or known is None:
            return ""
        if source.rows != known.rows:
            return f"restated: {source.rows:,} rows in the source, {known.rows:,} were extracted"
        if self.rules.restatement == "hash":
            return "`restatement: hash` compares its content"
        before = known.token.fingerprint if known.token is not None else None
        if self.rules.restatement_column and source.newest != before:
            return f"restated: max({self.rules.restatement_column}) moved from {before} to {source.newest}"
        return ""

    # The target

    def _load(self, value: Value, extract: Extract | None) -> tuple[Load | None, Notice | None]:
        file, entry = self.state.lake.get(value), self.state.ledger.get(value)
        generation = entry.generation + 1 if entry else 1
        usable = file is not None and not file.broken
        if entry is None or not entry.is_active:
            if extract is None and not usable:
                return None, None
            return self._first_load(value, extract, file, generation), None
        why, notice = self._why_load(value, entry, file if extract is None else None)
        if why and extract is None and not usable:
            return None, Notice(f"{why}, and neither the source nor the lake holds it any more", value, "warning")
        rows = extract.rows if extract else file.rows if file else entry.rows
        if why:
            return Load(value, why, generation, rows), notice
        if extract is not None and extract.origin == "source":
            unless = "" if self._asked_for(value) else entry.hash
            return Load(value, extract.why, generation, rows, unless_hash=unless), notice
        # The source no longer has it: what the lake holds is restored.
        return (Load(value, self.request.why, generation, rows) if self._asked_for(value) and usable else None), notice

    def _first_load(self, value: Value, extract: Extract | None, file: LakeEntry | None, generation: int) -> Load:
        rows = extract.rows if extract else file.rows if file else None
        if value in self.state.target:
            why = "the target holds it, the ledger does not know it"
            return Load(value, why, generation, rows, compare_first=True, keeps_unless=self._known_hashes(value, file))
        return Load(value, extract.why if extract else "in the lake, not in the target", generation, rows)

    def _known_hashes(self, value: Value, file: LakeEntry | None) -> tuple[str, ...] | None:
        """Return the hashes of rows that Tidegate itself loaded; None where whatever differs is to be replaced."""
        if self._asked_for(value) or self.rules.on_target_change == "restore":
            return None
        return (file.hash,) if file is not None and not file.broken else ()

    def _lost_rows(self, value: Value, entry: LedgerEntry) -> str:
        """How the target lost rows that were proven; empty when it did not, or when they were not counted."""
        held = self.state.target.get(value)
        if value not in self.state.target and entry.rows:
            return "gone from the target"
        return f"the target holds {held:,} of {entry.rows:,} rows" if held is not None and held < entry.rows else ""

    def _why_load(self, value: Value, entry: LedgerEntry, file: LakeEntry | None) -> tuple[str, Notice | None]:
        held = self.state.target.get(value)
        if lost := self._lost_rows(value, entry):
            return lost, None
        if self.state.target_lacks and not self.state.has_other_columns(entry):
            return f"the target lost the column {', '.join(self.state.target_lacks)}", None
        if file is not None and not file.broken and file.hash != entry.hash and not file.unproven:
            return "newer in the lake than in the target", None
        if held is not None and held > entry.rows and self.rules.on_target_change != "keep":
            text = f"the target holds {held:,} rows, {entry.rows:,} were loaded: somebody added {held - entry.rows:,}"
            if self.rules.on_target_change == "restore":
                return text, None
            return "", Notice(f"{text}; `tidegate repair` restores it", value, "warning")
        return "", None

    # What rules take away, and what a person should know

    def _removals(self) -> list[Step]:
        if self.request != DAILY:
            return []
        kept_in_target, kept_in_lake = (
            self._kept(self.rules.retain.target),
            self._kept(self.rules.retain.lake),
        )
        steps: list[Step] = []
        for value, entry in sorted(self.state.ledger.items()):
            if entry.is_active and self.scope.covers(value) and value not in kept_in_target:
                steps.append(
                    Remove(
                        value,
                        "target",
                        f"beyond `retain: target: {self.rules.retain.target}`",
                        entry.generation + 1,
                    )
                )
        for value in sorted(self.state.lake):
            if self.scope.covers(value) and value not in kept_in_lake:
                steps.append(Remove(value, "lake", f"beyond `retain: lake: {self.rules.retain.lake}`"))
        return steps

    def _general_notices(self) -> list[Step]:
        notices: list[Step] = []
        if not self.state.source:
            notices.append(Notice("the source holds no partition value", severity="warning"))
        waiting = sorted(value for value in self.held_back if self.scope.covers(value))
        if waiting:
            notices.append(Notice(f"not ready yet: {', '.join(map(str, waiting[-5:]))}"))
        if not self.rules.restatement_column and self.rules.restatement == "count":
            notices.append(Notice("only row counts tell a restated value; name a `restatement_column` to see more"))
        return notices

    def _refuse_a_target_that_was_there_before(self) -> None:
        """The first run meets rows that nobody recorded: they are not ours to replace."""
        known = (self.state.scope is not None or self.state.lake) and self.state.is_ours
        if known or self.state.ledger or self.rules.on_target_change == "restore" or self.request.reload_all:
            return
        found = [value for value in self._wanted() if value in self.state.target]
        if found:
            raise ForeignTarget(
                f"The target holds rows of {len(found)} values that no ledger knows: {', '.join(map(str, found[:3]))}.",
                "Nothing was written.",
                "`tidegate adopt` takes them over as they are; `tidegate run --reload` replaces them.",
            )
