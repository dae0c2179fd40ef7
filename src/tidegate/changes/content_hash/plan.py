"""Plan a table that is compared as a whole: decide from its content in source, lake and target. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidegate.changes._retention import LakeRetention
from tidegate.errors import ForeignTarget
from tidegate.model.names import pluralize
from tidegate.model.plan import DAILY, RELOAD, Extract, Load, Notice, Read, Remove, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry, TableState
from tidegate.model.windows import WHOLE_TABLE as WHOLE

SCOPE = Scope(WHOLE)
TRUSTED = "its rows were not read: the answer to `pre_check` is as it was when they were loaded"
UNKNOWN = "whether its content changed is unknown until it was read"


class ContentRules(Protocol):
    """The settings of a static table that planning asks for."""

    @property
    def on_target_change(self) -> str: ...

    @property
    def retain(self) -> LakeRetention: ...


def plan(rules: ContentRules, state: TableState, request: Request, *, deletes: bool = True) -> tuple[Scope, list[Step]]:
    """The steps in their order. The scope is always all of it."""
    return SCOPE, _Planner(rules, state, request, deletes).steps()


@dataclass(frozen=True)
class _Planner:
    rules: ContentRules
    state: TableState
    request: Request
    deletes: bool
    """Whether rows leave the target that the source does not have."""

    @property
    def file(self) -> LakeEntry | None:
        return self.state.lake.get(WHOLE)

    @property
    def entry(self) -> LedgerEntry | None:
        entry = self.state.ledger.get(WHOLE)
        return entry if entry is not None and entry.is_active else None

    @property
    def source_state(self) -> str | None:
        return self.state.source[WHOLE].newest

    def steps(self) -> list[Step]:
        rows = self.state.source[WHOLE].rows
        if self._must_read():
            return [Read(WHOLE, UNKNOWN, rows)]
        self._refuse_a_target_that_was_there_before()
        why = self._why_extract()
        extract = Extract(WHOLE, why, rows) if why else None
        load, notice = self._load(extract)
        notice = None if self._asked_for else notice  # it is being restored
        told = Notice(TRUSTED, WHOLE) if self.state.is_trusted and extract is None else None
        return [step for step in (extract, load, notice, told) if step is not None] + self._removals(extract)

    def _must_read(self) -> bool:
        """Return whether only the rows themselves tell what follows. Without them it may be known that they must move:
        nothing was extracted yet, or the counts differ."""
        if not self.state.unread or self._asked_for:
            return False
        if not self._knows_target and self.state.target.get(WHOLE):
            return True  # equal content is taken over, other content is refused
        return not self._why_extract()

    @property
    def _knows_target(self) -> bool:
        return self.state.is_ours or bool(self.state.ledger)

    def _removals(self, extract: Extract | None) -> list[Step]:
        """Older entries that `retain: {lake: N}` takes away; the newest one always stays."""
        kept, older = self.rules.retain.lake, self.state.superseded
        if extract is not None and self.file is not None:
            older = (*older, self.file.id)
        beyond = older[: max(len(older) + 1 - kept, 0)] if kept else ()
        if not beyond or self.request != DAILY:
            return []
        return [Remove(WHOLE, "lake", f"beyond `retain: lake: {kept}`", entries=tuple(beyond))]

    @property
    def _asked_for(self) -> bool:
        return self.request.reload_all or (self.request.reload is not None and WHOLE in self.request.reload)

    def _why_extract(self) -> str:
        file = self.file
        if self._asked_for:
            return RELOAD
        if file is None:
            return "missing in the lake" if self.entry else "new in the source"
        if file.broken:
            return f"its file cannot be used: {file.broken}"
        if self.state.has_other_columns(file):
            return "it was extracted with other columns"
        if self.state.unread:
            rows = self.state.source[WHOLE].rows
            return "" if rows == file.rows else f"the source has {rows:,} rows, its file {file.rows:,}"
        return "" if _content(file) == self.source_state else "its content changed in the source"

    def _load(self, extract: Extract | None) -> tuple[Load | None, Notice | None]:
        last, file = self.state.ledger.get(WHOLE), self.file
        generation = last.generation + 1 if last else 1
        rows = self.state.source[WHOLE].rows
        if self.entry is None:
            why = extract.why if extract else "in the lake, not in the target"
            return Load(WHOLE, why, generation, rows, compare_first=WHOLE in self.state.target), None
        why, notice = self._changed_in_target(self.entry)
        if why:
            return Load(WHOLE, why, generation, rows), None
        if extract is not None:
            unless = "" if self._asked_for else self.entry.hash
            return Load(WHOLE, extract.why, generation, rows, unless_hash=unless), notice
        if file is not None and file.hash != self.entry.hash:
            return Load(WHOLE, "newer in the lake than in the target", generation, rows), notice
        return None, notice

    def _changed_in_target(self, entry: LedgerEntry) -> tuple[str, Notice | None]:
        """Missing rows are healed, changed and added ones reported, unless the table says otherwise."""
        held, found = self.state.target.get(WHOLE, 0), self.state.target_receipt
        if self.state.target_lacks and not self.state.has_other_columns(entry):
            return f"the target lost the column {', '.join(self.state.target_lacks)}", None
        left, expected = entry.target_receipt, entry.target_rows
        if held is None or expected is None:
            return "", None
        if held < expected:
            return f"the target holds {held:,} of {expected:,} rows", None
        if (found is None or left is None or found == left) and held == expected:
            return "", None
        if self.rules.on_target_change == "restore":
            return "somebody changed rows in the target", None
        if self.rules.on_target_change == "keep":
            return "", None
        more = f", {pluralize(held - expected, 'row')} more" if held > expected else ""
        stays = "; what was added stays, since `allow_deletes` is off" if more and not self.deletes else ""
        text = f"somebody changed rows in the target{more}; `tidegate repair` restores it{stays}"
        return "", Notice(text, WHOLE, "warning")

    def _refuse_a_target_that_was_there_before(self) -> None:
        """The first run meets rows that nobody recorded: they are not ours to change."""
        known = self._knows_target or not self.state.target.get(WHOLE)
        found = self.state.target_receipt
        equal = found is not None and found.as_text() == self.source_state
        if known or equal or self.rules.on_target_change == "restore" or self.request.reload_all:
            return
        raise ForeignTarget(
            f"The target holds {self.state.target[WHOLE]:,} rows that no ledger knows.",
            "Nothing was written.",
            "`tidegate adopt` takes them over, and the next run brings what differs; `tidegate run --reload` does so"
            " at once.",
        )


def extracted_content(state: TableState) -> str | None:
    """Return what the source's rows added up to when they were extracted. None where planning has to know the target
    whatever the source has: no entry can be loaded, or no ledger tells what the target held."""
    entry, loaded = state.lake.get(WHOLE), state.ledger.get(WHOLE)
    if entry is None or entry.broken or loaded is None or not loaded.is_active:
        return None
    return _content(entry)


def _content(entry: LakeEntry) -> str | None:
    """Return what the source's rows added up to when they were extracted."""
    return entry.token.fingerprint if entry.token is not None else None
