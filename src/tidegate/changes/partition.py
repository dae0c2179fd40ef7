"""Partition tables: rows belong to values of one column (a business date, a period), and values are replaced whole.

Planning is pure. It gets what source, lake and target say they hold and answers with steps; it reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from tidegate.errors import ForeignTarget
from tidegate.model.evidence import LakeFile, LedgerEntry, PartitionEvidence
from tidegate.model.plan import DAILY, Land, Load, Notice, Remove, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.values import Value


class Retention(Protocol):
    @property
    def target(self) -> int | None: ...

    @property
    def lake(self) -> int | None: ...


class Rules(Protocol):
    """The settings of a partition table that planning asks for."""

    @property
    def initial_load_count(self) -> int: ...

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


def settled_values(rules: Rules, source: Iterable[Value], ready: frozenset[Value] | None) -> list[Value]:
    """The source's values in order, without the newest `hold_back` and without those that are not ready."""
    ordered = sorted(source)
    kept = ordered[: max(len(ordered) - rules.hold_back, 0)]
    return [value for value in kept if ready is None or value in ready]


def scope_for(rules: Rules, seen: PartitionEvidence, asked: Request) -> Scope:
    """The declared scope, set by the first run and widened by backfills."""
    scope = seen.scope if seen.scope is not None else _scope_told_by_ledger(seen)
    if asked.between is not None:
        return scope.with_range(*asked.between)
    settled = settled_values(rules, seen.source, seen.ready)
    if scope.floor is None and settled:
        return Scope(settled[-rules.initial_load_count :][0], scope.ranges, scope.forgotten)
    return scope


def _scope_told_by_ledger(seen: PartitionEvidence) -> Scope:
    """Rebuild a scope of which both copies are lost: ranges of values that were loaded, without the source's values
    between them that were not."""
    loaded = {value for value, entry in seen.ledger.items() if entry.stands}
    forgotten = frozenset(value for value, entry in seen.ledger.items() if entry.kind == "forgotten")
    ranges: list[tuple[Value, Value]] = []
    for is_loaded, some in groupby(sorted({*seen.source, *loaded} - forgotten), key=loaded.__contains__):
        if is_loaded:
            first, *others = some
            ranges.append((first, others[-1] if others else first))
    return Scope(None, tuple(ranges), forgotten)


def plan(rules: Rules, seen: PartitionEvidence, asked: Request = DAILY) -> tuple[Scope, list[Step]]:
    """The scope from now on, and the steps in their order."""
    scope = scope_for(rules, seen, asked)
    planner = _Planner(rules, seen, asked, scope)
    return scope, planner.steps()


@dataclass
class _Planner:
    rules: Rules
    seen: PartitionEvidence
    asked: Request
    scope: Scope
    settled: list[Value] = field(init=False)
    held_back: set[Value] = field(init=False)
    in_scope: list[Value] = field(init=False)

    def __post_init__(self) -> None:
        self.settled = settled_values(self.rules, self.seen.source, self.seen.ready)
        self.held_back = set(self.seen.source) - set(self.settled)
        standing = {value for value, entry in self.seen.ledger.items() if entry.stands}
        known = {*self.settled, *standing, *self.seen.lake}
        self.in_scope = sorted(value for value in known if self.scope.holds(value))

    def steps(self) -> list[Step]:
        lands: list[Step] = []
        loads: list[Step] = []
        notices = self._general_notices()
        self._refuse_a_target_that_was_there_before()
        for value in self._wanted():
            land = self._land(value)
            load, notice = self._load(value, land)
            lands += [land] if land else []
            loads += [load] if load else []
            notices += [notice] if notice else []
        return [*lands, *loads, *self._removals(), *notices]

    # Which values

    def _wanted(self) -> list[Value]:
        kept = self._kept(self.rules.retain.target)
        wanted = [value for value in self.in_scope if value in kept]
        if self.asked.between is not None:
            low, high = self.asked.between
            return [value for value in wanted if low <= value <= high]
        return [value for value in wanted if self.asked.reload is None or value in self.asked.reload]

    def _kept(self, newest: int | None) -> set[Value]:
        return set(self.in_scope if newest is None else self.in_scope[-newest:] if newest else [])

    # The lake

    def _land(self, value: Value) -> Land | None:
        file = self.seen.lake.get(value)
        why = self._why_land(value, file, self.seen.ledger.get(value))
        if not why:
            return None
        replaces = file.stamp if file else ""
        if value in self.settled:
            source = self.seen.source[value]
            return Land(value, why, rows=source.rows, replaces=replaces)
        entry = self.seen.ledger.get(value)
        whole = value in self.seen.target and entry is not None and not self._lost_rows(value, entry)
        if whole and value not in self.held_back:
            return Land(value, f"{why}, and no longer in the source", origin="target", replaces=replaces)
        return None

    def _asked_for(self, value: Value) -> bool:
        return self.asked.reload_all or (self.asked.reload is not None and value in self.asked.reload)

    def _why_land(self, value: Value, file: LakeFile | None, entry: LedgerEntry | None) -> str:
        if self._asked_for(value) and value in self.settled:
            return self.asked.why
        if file is not None and file.broken:
            return f"its file cannot be used: {file.broken}"
        known = file or (entry if entry is not None and entry.stands else None)
        if known is None:
            return "new in the source"
        if value in self.settled and self.seen.has_other_columns(known):
            return "it was extracted with other columns"
        without_file = self._why_land_again(value, entry) if file is None and entry is not None else ""
        return without_file or self._restated(value, file, entry)

    def _why_land_again(self, value: Value, entry: LedgerEntry) -> str:
        """Its file is not there. What was adopted, or is beyond the lake's retention, needs none while all is well."""
        if lost := self._lost_rows(value, entry):
            return lost
        expected = entry.kind != "adopted" and value in self._kept(self.rules.retain.lake)
        return "missing in the lake" if expected else ""

    def _restated(self, value: Value, file: LakeFile | None, entry: LedgerEntry | None) -> str:
        """Compared with what was extracted; a value outside of the look-back was not counted and never differs."""
        source, known = self.seen.source.get(value), file or entry
        if source is None or source.rows is None or known is None:
            return ""
        if source.rows != known.rows:
            return f"restated: {source.rows:,} rows in the source, {known.rows:,} were extracted"
        if self.rules.restatement == "hash":
            return "`restatement: hash` compares its content"
        if self.rules.restatement_column and source.newest != known.newest:
            return f"restated: max({self.rules.restatement_column}) moved from {known.newest} to {source.newest}"
        return ""

    # The target

    def _load(self, value: Value, land: Land | None) -> tuple[Load | None, Notice | None]:
        file, entry = self.seen.lake.get(value), self.seen.ledger.get(value)
        generation = entry.generation + 1 if entry else 1
        usable = file is not None and not file.broken
        if entry is None or not entry.stands:
            if land is None and not usable:
                return None, None
            return self._first_load(value, land, file, generation), None
        why, notice = self._why_load(value, entry, file if land is None else None)
        if why and land is None and not usable:
            return None, Notice(f"{why}, and neither the source nor the lake holds it any more", value, "warning")
        rows = land.rows if land else file.rows if file else entry.rows
        if why:
            return Load(value, why, generation, rows), notice
        if land is not None and land.origin == "source":
            unless = "" if self._asked_for(value) else entry.hash
            return Load(value, land.why, generation, rows, unless_hash=unless), notice
        # The source no longer has it: what the lake holds is restored.
        return (Load(value, self.asked.why, generation, rows) if self._asked_for(value) and usable else None), notice

    def _first_load(self, value: Value, land: Land | None, file: LakeFile | None, generation: int) -> Load:
        rows = land.rows if land else file.rows if file else None
        if value in self.seen.target:
            return Load(value, "the target holds it, the ledger does not know it", generation, rows, look_first=True)
        return Load(value, land.why if land else "in the lake, not in the target", generation, rows)

    def _lost_rows(self, value: Value, entry: LedgerEntry) -> str:
        """How the target lost rows that were proven; empty when it did not, or when they were not counted."""
        held = self.seen.target.get(value)
        if value not in self.seen.target and entry.rows:
            return "gone from the target"
        return f"the target holds {held:,} of {entry.rows:,} rows" if held is not None and held < entry.rows else ""

    def _why_load(self, value: Value, entry: LedgerEntry, file: LakeFile | None) -> tuple[str, Notice | None]:
        held = self.seen.target.get(value)
        if lost := self._lost_rows(value, entry):
            return lost, None
        if self.seen.target_lacks and not self.seen.has_other_columns(entry):
            return f"the target lost the column {', '.join(self.seen.target_lacks)}", None
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
        if self.asked != DAILY:
            return []
        kept_in_target, kept_in_lake = (
            self._kept(self.rules.retain.target),
            self._kept(self.rules.retain.lake),
        )
        steps: list[Step] = []
        for value, entry in sorted(self.seen.ledger.items()):
            if entry.stands and self.scope.holds(value) and value not in kept_in_target:
                steps.append(
                    Remove(
                        value,
                        "target",
                        f"beyond `retain: target: {self.rules.retain.target}`",
                        entry.generation + 1,
                    )
                )
        for value in sorted(self.seen.lake):
            if self.scope.holds(value) and value not in kept_in_lake:
                steps.append(Remove(value, "lake", f"beyond `retain: lake: {self.rules.retain.lake}`"))
        return steps

    def _general_notices(self) -> list[Step]:
        notices: list[Step] = []
        if not self.seen.source:
            notices.append(Notice("the source holds no partition value", severity="warning"))
        waiting = sorted(value for value in self.held_back if self.scope.holds(value))
        if waiting:
            notices.append(Notice(f"not ready yet: {', '.join(map(str, waiting[-5:]))}"))
        if not self.rules.restatement_column and self.rules.restatement == "count":
            notices.append(Notice("only row counts tell a restated value; name a `restatement_column` to see more"))
        return notices

    def _refuse_a_target_that_was_there_before(self) -> None:
        """The first run meets rows that nobody recorded: they are not ours to replace."""
        known = (self.seen.scope is not None or self.seen.lake) and self.seen.is_ours
        if known or self.seen.ledger or self.rules.on_target_change == "restore" or self.asked.reload_all:
            return
        found = [value for value in self._wanted() if value in self.seen.target]
        if found:
            raise ForeignTarget(
                f"The target holds rows of {len(found)} values that no ledger knows: {', '.join(map(str, found[:3]))}.",
                "Nothing was written.",
                "`tidegate adopt` takes them over as they are; `tidegate run --reload` replaces them.",
            )
