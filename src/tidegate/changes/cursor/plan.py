"""Plan a table that is read by a cursor, from a look-back before the watermark up to a bound fixed before. Pure.

A window is a lake entry with a range of the cursor. Windows that follow on one another reach up to some watermark. The
smaller of what the lake and what the ledger reach is where reading starts: a hole on either side is read again, and no
stored watermark is believed. What is read twice costs a little reading, never a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from tidegate.changes._retention import LakeRetention, removals_beyond
from tidegate.changes._watermarks import of_one_counter, start_of, watermark_of
from tidegate.errors import ForeignTarget
from tidegate.model.names import pluralize
from tidegate.model.plan import RELOAD, Extract, Load, Notice, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, TableState
from tidegate.model.tokens import CursorWindow
from tidegate.model.values import Value

_NOT_LOADED_YET = "~"
"""Sorts after every time: this run loads the window after all that was loaded."""


class CursorRules(Protocol):
    """The settings that planning asks for."""

    @property
    def on_target_change(self) -> str: ...

    @property
    def retain(self) -> LakeRetention: ...


@dataclass(frozen=True)
class CursorState(TableState):
    """The state of a table that is read by a cursor. A window goes by the time of its extraction."""

    in_lake: Mapping[Value, CursorWindow] = field(default_factory=dict)
    """Usable lake entries that were read from the source."""
    in_ledger: Mapping[Value, CursorWindow] = field(default_factory=dict)
    """Windows that were loaded."""
    given: Mapping[Value, CursorWindow] = field(default_factory=dict)
    """Lake entries whose rows a program passed in as a DataFrame."""
    next_window: Value | None = None
    newest: Value | None = None
    """The greatest cursor value of the source."""
    newest_past: Value | None = None
    """The greatest that does not lie in the future."""
    lookback_fingerprint: str = ""
    floor: Value | None = None
    """Where a first run would begin; None for all."""
    rows: int | None = None
    """How many rows the window would bring, where that was counted."""
    target_rows: int | None = None
    """How many rows the target has; None while there is no table."""
    is_whole: bool = False
    """There is no cursor: the whole source is compared, and the fingerprint is that of its content."""
    in_source: int | None = None
    """How many rows the source has; None where nobody counted."""
    older: int | None = None
    """How many of them are older than the scope and not copied; None where nobody counted."""
    current_left_out: int = 0
    """How many current rows a plain window would leave out."""
    keys_read_at: Value | None = None
    """The time now on the cursor's clock, where all keys are read too."""
    order_matters: bool = False
    """The load gives another result when windows come in another order."""
    is_restored: bool = False
    """The source's counter stands lower than the watermark: all that came since lies below it."""

    @property
    def expected_rows(self) -> int | None:
        """Return how many rows the target had after the last load. Where windows were loaded again and the newest was
        not reached, as many as after that one: the rest is still to come."""
        last = max(self.in_ledger, default=None, key=lambda window: self.ledger[window].at)
        newest = max(self.in_ledger, default=None)
        counts = [self.ledger[window].target_rows for window in (last, newest) if window is not None]
        return max((rows for rows in counts if rows is not None), default=None)


def without_other_counters(seen: CursorState, now: Value) -> CursorState:
    """Return the state without windows of a counter that is no longer the source's.

    A counter that only grows and stands lower now was restored with its database. Windows before one that reached less
    than they did are of that other counter, too."""
    newest = max(seen.in_lake.items(), default=None) or max(seen.in_ledger.items(), default=None)
    reached = newest[1].watermark if newest is not None else None
    return replace(
        seen,
        in_lake=of_one_counter(seen.in_lake, now),
        in_ledger=of_one_counter(seen.in_ledger, now),
        is_restored=reached is not None and reached > now,
    )


def plan(rules: CursorRules, state: CursorState, request: Request, look_back: int) -> tuple[Scope, list[Step]]:
    """The scope from now on, and the steps in their order."""
    planner = _Planner(rules, state, request, look_back)
    return planner.scope, planner.steps()


@dataclass(frozen=True)
class _Planner:
    rules: CursorRules
    state: CursorState
    request: Request
    look_back: int

    @property
    def scope(self) -> Scope:
        """From the floor of the first run on; a backfill moves it down."""
        known = self.state.scope or Scope(self._first_floor)
        if self.request.between is None or known.floor is None:
            return known
        return Scope(min(known.floor, self.request.between[0]), known.ranges, known.forgotten)

    @property
    def _first_floor(self) -> Value | None:
        """Where a first run begins. When both copies of the scope are lost: where the oldest window begins."""
        windows = (*self.state.in_lake.values(), *self.state.in_ledger.values())
        begins = [window.after for window in windows if not window.is_given]
        cursors = [begin for begin in begins if begin is not None]
        if len(cursors) < len(begins):  # a window without a begin holds everything
            return None
        return min(cursors, default=self.state.floor)

    def steps(self) -> list[Step]:
        self._refuse_a_target_that_was_there_before()
        loads = list[Step](self._loads())
        extract = self._extract()
        if extract is not None:
            exact = bool(self.request.reload) and not self.state.is_whole and self.state.has_whole_log
            loads.append(Load(extract.value, extract.why, 1, extract.rows, exact=exact))
        return [*([extract] if extract else []), *loads, *self._removals(extract), *self._notices()]

    # The lake

    def _extract(self) -> Extract | None:
        seen = self.state
        # A source without rows has nothing to read, unless all keys are read: then all of them have left.
        all_left = seen.keys_read_at is not None and bool(seen.in_lake)
        if seen.next_window is None or (seen.newest is None and not all_left):
            return None
        low, why = self._window()
        if not why:
            return None
        window = CursorWindow()
        if not seen.is_whole:
            # The row with the greatest cursor value may be gone: what was reached stays reached.
            values = (seen.newest_past, low, watermark_of(self._in_lake, self.scope.floor))
            reached = max((value for value in values if value is not None), default=None)
            window = CursorWindow(low, seen.newest, reached, keys_read_at=seen.keys_read_at)
        return Extract(seen.next_window, why, seen.rows, token=window)

    def _window(self) -> tuple[Value | None, str]:
        """Where reading starts, and why it is read at all; without a reason there is nothing new."""
        seen, floor = self.state, self.scope.floor
        if self.request.reload_all or self.request.reload:
            return floor, RELOAD
        if self.request.between is not None:
            return floor, "backfill asked for"
        if seen.is_restored:
            return floor, "the source was restored: its row versions are below those that were reached"
        if not seen.in_ledger and not seen.in_lake:
            return floor, "new in the source"
        if self._columns_changed:
            return floor, "it was extracted with other columns"
        if seen.is_whole:
            newest = max(seen.in_lake.items(), default=None)
            why = "missing in the lake" if newest is None else "its content changed in the source"
            is_same = newest is not None and newest[1].lookback_fingerprint == seen.lookback_fingerprint
            return None, "" if is_same else why
        if self._lost() and self._dropped:
            return floor, f"{self._lost()}, and older entries are beyond `retain: lake`"
        start = start_of(self._in_lake, self._loaded_or_about_to_be, floor)
        if start is None:
            return floor, "missing in the lake"
        last = max(seen.in_lake.items())[1] if seen.in_lake else None
        reached = watermark_of(self._loaded_or_about_to_be, floor)
        if reached is not None and start < reached:
            return self._before(start), "missing in the lake"
        is_same = last is not None and last.lookback_fingerprint == seen.lookback_fingerprint
        if last is not None and last.watermark == start and is_same:
            return start, ""
        return self._before(start), "changes in the source"

    def _before(self, cursor: Value) -> Value:
        """A look-back before it, and never below the scope."""
        low, floor = cursor.minus(self.look_back), self.scope.floor
        return low if floor is None or low > floor else floor

    @property
    def _dropped(self) -> dict[Value, CursorWindow]:
        """Return loaded windows whose entries `retain: {lake: N}` took away: the lake does not lack them."""
        kept, seen = self.rules.retain.lake, self.state
        if kept is None:
            return {}
        beyond = sorted({*seen.in_ledger, *seen.lake})[:-kept]
        return {name: seen.in_ledger[name] for name in beyond if name in seen.in_ledger and name not in seen.lake}

    @property
    def _in_lake(self) -> list[CursorWindow]:
        return [*self.state.in_lake.values(), *self._dropped.values()]

    def _removals(self, extract: Extract | None) -> list[Step]:
        """Return removals of loaded entries beyond `retain: {lake: N}`. Rows of a DataFrame stay: only we have them."""
        seen, coming = self.state, {extract.value} if extract is not None else set[Value]()
        loaded = ({*seen.lake} & {*seen.in_ledger}) - {*seen.given}
        return removals_beyond(self.rules.retain.lake, self.request, {*seen.in_ledger, *seen.lake, *coming}, loaded)

    @property
    def _loaded_or_about_to_be(self) -> list[CursorWindow]:
        """A file that is there and not loaded is loaded by this very plan."""
        return [*self.state.in_ledger.values(), *self.state.in_lake.values()]

    @property
    def _columns_changed(self) -> bool:
        newest = max(self.state.lake.items(), default=None)
        if newest is None or newest[1].broken:
            return False
        # The ledger knows of a column that had left the source before it came back.
        entry = self.state.ledger.get(newest[0])
        was_dropped = entry is not None and entry.is_active and self.state.has_other_columns(entry)
        return was_dropped or self.state.has_other_columns(newest[1])

    # The target

    def _to_load(self) -> list[tuple[Value, LakeEntry, str]]:
        """Files that the target lacks, in the order in which they were read; all of them when it lost rows."""
        if self.request.reload_all or self.request.reload or self._columns_changed:
            return []
        lost = self._lost()
        usable = [(batch, file) for batch, file in sorted(self.state.lake.items()) if not file.broken]
        if lost and self._dropped and not self.state.is_whole:
            # The source is read again; only the lake has what a program passed in.
            return [(batch, file, lost) for batch, file in usable if batch in self.state.given]
        if lost:
            return [(batch, file, lost) for batch, file in usable]
        known = {batch: entry.at for batch, entry in self.state.ledger.items() if entry.is_active}
        coming = [(batch, file, "in the lake, not in the target") for batch, file in usable if batch not in known]
        behind = self._behind(known) if self.state.order_matters else set()
        late = [(batch, file, "an earlier one came later") for batch, file in usable if batch in behind]
        # What was handed in may belong before what was read: that comes after it.
        return sorted([*coming, *late], key=lambda one: (one[0] not in self.state.given, one[0]))

    def _behind(self, known: Mapping[Value, str]) -> set[Value]:
        """Batches after which something was loaded, or is about to be, that belongs before them.

        What said nothing new beside the version before it may say something beside one that came between. Rows that
        somebody handed in may lie anywhere in time."""
        seen, found = self.state, set[Value]()
        latest = ""  # when the last of those before was loaded
        for batch in sorted((*seen.in_lake, *seen.given)):
            window, at = seen.in_lake.get(batch), known.get(batch, _NOT_LOADED_YET)
            if window is not None and batch in known:
                given = (
                    known.get(other, _NOT_LOADED_YET)
                    for other, window_given in seen.given.items()
                    if window_given.may_overlap(window)
                )
                if max((latest, *given)) > at:
                    found.add(batch)
            latest = max(latest, at)
        return found

    def _lost(self) -> str:
        held, expected = self.state.target_rows, self.state.expected_rows
        if expected is None or held is None or held >= expected:
            return "gone from the target" if expected and held is None else ""
        return f"the target holds {held:,} of {expected:,} versions"

    def _loads(self) -> Iterator[Load]:
        # When all of it is loaded again, in its order, each file has the last word in its turn.
        loaded = () if self._lost() else self.state.in_ledger.values()
        newest = max((window.read_at for window in loaded), default="")
        for batch, file, why in self._to_load():
            entry = self.state.ledger.get(batch)
            generation = entry.generation + 1 if entry else 1
            yield Load(batch, why, generation, file.rows, is_newest=file.read_at >= newest)
            newest = max(newest, file.read_at)

    # What a person should know

    def _notices(self) -> list[Step]:
        seen, notices = self.state, list[Step]()
        if seen.newest is None:
            notices.append(Notice("the source holds no versions", severity="warning"))
        elif not seen.is_whole and (seen.newest_past is None or seen.newest > seen.newest_past):
            text = f"cursor values in the future, up to {seen.newest}, are read and do not advance the watermark"
            notices.append(Notice(text, severity="warning"))
        if seen.current_left_out:
            text = f"{pluralize(seen.current_left_out, 'current version')} older than the window: left out"
            notices.append(Notice(f"{text}; `initial_load: latest+window` takes them", severity="warning"))
        expected, held = seen.expected_rows, seen.target_rows
        if expected is not None and held is not None and held > expected and self.rules.on_target_change != "keep":
            text = f"the target holds {held:,} versions, {expected:,} were there after the last load"
            notices.append(Notice(f"{text}: somebody added {held - expected:,}", severity="warning"))
        return notices

    def _refuse_a_target_that_was_there_before(self) -> None:
        seen = self.state
        known = seen.is_ours or seen.ledger or not seen.target_rows
        if known or self.rules.on_target_change == "restore" or self.request.reload_all:
            return
        raise ForeignTarget(
            f"The target holds {pluralize(seen.target_rows or 0, 'version')} that no ledger knows.",
            "Nothing was written.",
            "`tidegate adopt` takes them over, and the next run brings what is missing and settles the flags of what it"
            " touches; `tidegate run --reload` does so at once. Nothing is deleted.",
        )
