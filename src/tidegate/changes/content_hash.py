"""Static tables: compared as a whole by a hash of their content, in source, lake and target; moved when they differ.

Planning is pure. It gets what source, lake and target hold and answers with steps; it reads nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidegate.errors import ForeignTarget
from tidegate.model.evidence import LakeFile, LedgerEntry, PartitionEvidence
from tidegate.model.names import counted
from tidegate.model.plan import RELOAD, Land, Load, Notice, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.values import Kind, Value

WHOLE = Value.of("all rows", Kind.TEXT)
"""The only window of such a table."""
SCOPE = Scope(WHOLE)


class Rules(Protocol):
    """The settings of a static table that planning asks for."""

    @property
    def on_target_change(self) -> str: ...


def plan(rules: Rules, seen: PartitionEvidence, asked: Request, *, deletes: bool = True) -> tuple[Scope, list[Step]]:
    """The steps in their order. The scope is always all of it."""
    return SCOPE, _Planner(rules, seen, asked, deletes).steps()


@dataclass(frozen=True)
class _Planner:
    rules: Rules
    seen: PartitionEvidence
    asked: Request
    deletes: bool
    """Whether rows leave the target that the source does not have."""

    @property
    def file(self) -> LakeFile | None:
        return self.seen.lake.get(WHOLE)

    @property
    def entry(self) -> LedgerEntry | None:
        entry = self.seen.ledger.get(WHOLE)
        return entry if entry is not None and entry.stands else None

    @property
    def source_state(self) -> str | None:
        return self.seen.source[WHOLE].newest

    def steps(self) -> list[Step]:
        self._refuse_a_target_that_was_there_before()
        why = self._why_land()
        rows = self.seen.source[WHOLE].rows
        land = Land(WHOLE, why, rows) if why else None
        load, notice = self._load(land)
        told = None if self._asked_for else notice  # it is being restored
        return [step for step in (land, load, told) if step is not None]

    @property
    def _asked_for(self) -> bool:
        return self.asked.reload_all or (self.asked.reload is not None and WHOLE in self.asked.reload)

    def _why_land(self) -> str:
        file = self.file
        if self._asked_for:
            return RELOAD
        if file is None:
            return "missing in the lake" if self.entry else "new in the source"
        if file.broken:
            return f"its file cannot be used: {file.broken}"
        if self.seen.has_other_columns(file):
            return "it was extracted with other columns"
        return "" if file.newest == self.source_state else "its content changed in the source"

    def _load(self, land: Land | None) -> tuple[Load | None, Notice | None]:
        last, file = self.seen.ledger.get(WHOLE), self.file
        generation = last.generation + 1 if last else 1
        rows = self.seen.source[WHOLE].rows
        if self.entry is None:
            why = land.why if land else "in the lake, not in the target"
            return Load(WHOLE, why, generation, rows, look_first=WHOLE in self.seen.target), None
        why, notice = self._changed_in_target(self.entry)
        if why:
            return Load(WHOLE, why, generation, rows), None
        if land is not None:
            unless = "" if self._asked_for else self.entry.hash
            return Load(WHOLE, land.why, generation, rows, unless_hash=unless), notice
        if file is not None and file.hash != self.entry.hash:
            return Load(WHOLE, "newer in the lake than in the target", generation, rows), notice
        return None, notice

    def _changed_in_target(self, entry: LedgerEntry) -> tuple[str, Notice | None]:
        """Missing rows are healed, changed and added ones reported, unless the table says otherwise."""
        held, state = self.seen.target.get(WHOLE, 0), self.seen.target_state
        if self.seen.target_lacks and not self.seen.has_other_columns(entry):
            return f"the target lost the column {', '.join(self.seen.target_lacks)}", None
        left = entry.newest or ""
        if held is None or not left:
            return "", None
        expected = int(left.split()[0])
        if held < expected:
            return f"the target holds {held:,} of {expected:,} rows", None
        if state in (None, left) and held == expected:
            return "", None
        if self.rules.on_target_change == "restore":
            return "somebody changed rows in the target", None
        if self.rules.on_target_change == "keep":
            return "", None
        more = f", {counted(held - expected, 'row')} more" if held > expected else ""
        stays = "; what was added stays, since `allow_deletes` is off" if more and not self.deletes else ""
        text = f"somebody changed rows in the target{more}; `tidegate repair` restores it{stays}"
        return "", Notice(text, WHOLE, "warning")

    def _refuse_a_target_that_was_there_before(self) -> None:
        """The first run meets rows that nobody recorded: they are not ours to change."""
        known = self.seen.is_ours or self.seen.ledger or not self.seen.target.get(WHOLE)
        equal = self.seen.target_state is not None and self.seen.target_state == self.source_state
        if known or equal or self.rules.on_target_change == "restore" or self.asked.reload_all:
            return
        raise ForeignTarget(
            f"The target holds {self.seen.target[WHOLE]:,} rows that no ledger knows.",
            "Nothing was written.",
            "`tidegate adopt` takes them over, and the next run brings what differs; `tidegate run --reload` does so"
            " at once.",
        )
