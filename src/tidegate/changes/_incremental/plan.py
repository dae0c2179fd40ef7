"""Plan an incremental table, from a look-back before the watermark up to a bound fixed before. Pure.

A window reads all rows up to the greatest cursor value. Its watermark goes less far: not into the future, and not past
what an open transaction may still bring. So such rows are read again by the next window. A transaction that is open for
longer than `max_hold` no longer holds the watermark: what it may bring becomes a gap, which is read again when the
transaction has ended.

The smaller of what lake and ledger reach is where reading starts: a hole on either side is read again, and no stored
watermark is believed. What is read twice costs a little reading, never a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from tidegate.changes._incremental.state import IncrementalState, OpenTransaction
from tidegate.changes._retention import LakeRetention, removals_beyond
from tidegate.changes._watermarks import start_of, watermark_of
from tidegate.errors import ForeignTarget
from tidegate.model.names import pluralize
from tidegate.model.plan import RELOAD, Extract, Load, Notice, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry
from tidegate.model.tokens import Gap, IncrementalWindow
from tidegate.model.values import Value, ValueKind


class IncrementalRules(Protocol):
    """The settings that planning asks for."""

    @property
    def on_target_change(self) -> str: ...

    @property
    def retain(self) -> LakeRetention: ...

    @property
    def max_hold(self) -> int: ...

    @property
    def null_cursor(self) -> str: ...


Before = Callable[[Value, Value | None], Value]
"""Returns where reading starts, given a watermark and the source's clock: a look-back before."""

_UNSEEN = 2
"""Seconds that a server may take to show a transaction. It notes the time when a statement arrives, and lists the
transaction a moment later: under load that was seen to be long enough for a run to come in between."""

_TIMES = (ValueKind.TIMESTAMP, ValueKind.DATE)

SCOPE = Scope()
"""Every row of the source is in the scope."""


def plan(
    rules: IncrementalRules, state: IncrementalState, request: Request, before: Before, *, all_rows: bool = False
) -> tuple[Scope, list[Step]]:
    """Return the scope and the steps in their order. With `all_rows` every window holds the whole source."""
    return SCOPE, _Planner(rules, state, request, before, all_rows).steps()


@dataclass(frozen=True)
class _Planner:
    rules: IncrementalRules
    state: IncrementalState
    request: Request
    before: Before
    all_rows: bool

    def steps(self) -> list[Step]:
        self._refuse_a_target_that_was_there_before()
        extract = self._extract()
        loads = list[Step](self._loads())
        if extract is not None:
            exact = bool(self.request.reload) and self.state.has_whole_log
            loads.append(Load(extract.value, extract.why, 1, extract.rows, exact=exact))
        steps = [*([extract] if extract else []), *loads, *self._removals(extract)]
        return [*steps, *self._notices(extract)]

    # The lake

    def _extract(self) -> Extract | None:
        seen = self.state
        # A source without rows has nothing to read, unless all rows or keys are read: then they have left.
        may_have_left = (seen.keys_read_at is not None or self.all_rows) and bool(seen.in_lake)
        if seen.next_window is None or (seen.newest is None and not seen.nulls and not may_have_left):
            return None
        low, why = self._window()
        if not why:
            return None
        low = None if self.all_rows else low
        window = IncrementalWindow(
            after=low,
            upto=seen.newest,
            watermark=self._watermark(low),
            keys_read_at=seen.keys_read_at,
            gaps=self._gaps(),
            held_by=tuple(str(holder) for holder in self._holding),
            without_cursor=seen.nulls,
            reached=self._reached,
            clock=seen.clock if seen.clock is not None and seen.clock.kind in _TIMES else None,
        )
        rows = seen.rows if low is not None else None
        return Extract(seen.next_window, why, rows if rows or not seen.nulls else None, token=window)

    def _window(self) -> tuple[Value | None, str]:
        """Return where reading starts, and why anything is read; without a reason there is nothing new."""
        seen = self.state
        if self.request.reload_all or self.request.reload:
            return None, RELOAD
        if self.request.between is not None:
            return self.request.between[0], "backfill asked for"
        if not seen.in_ledger and not seen.in_lake:
            was_read = any(entry.kind == "loaded" for entry in seen.ledger.values())
            restored = "the source was restored: its counter stands lower than what was reached"
            return None, str(seen.watermark_set or (restored if was_read else "new in the source"))
        if self._columns_changed:
            return None, "it was extracted with other columns"
        if self._lost and self._dropped:
            return None, f"{self._lost}, and older entries are beyond `retain: lake`"
        start = start_of(self._in_lake, self._loaded_or_about_to_be, None)
        if start is None:
            return None, self._why_without_start
        last = seen.newest_window
        assert last is not None
        low = self._low(start if last.all_before is None else min(start, last.all_before))
        if self._reached is not None and start < self._reached:
            return low, "missing in the lake"
        return low, self._news(last)

    def _news(self, last: IncrementalWindow) -> str:
        """Return what is new since the last window; an empty text for nothing."""
        seen = self.state
        if seen.watermark_set is not None:
            return str(seen.watermark_set)
        if seen.set_back:
            return f"the source's clock was set back by {seen.set_back:,} s: rows from that time are read again"
        if seen.settled:
            sessions = ", ".join(gap.session.split()[0] for gap in seen.settled)
            return f"the transaction of session {sessions} has ended: what it may have brought is read again"
        if last.held_by and not self._holding:
            return "no open transaction holds the watermark any more"
        if seen.nulls > last.without_cursor:
            return "rows without a cursor value came"
        if self.all_rows and seen.rows is not None and seen.expected_rows not in (None, seen.rows + seen.nulls):
            return f"the source has {seen.rows + seen.nulls:,} rows, {seen.expected_rows:,} were loaded"
        return "" if last.lookback_fingerprint == seen.lookback_fingerprint else "changes in the source"

    @property
    def _why_without_start(self) -> str:
        """Return why everything is read although windows are known: none of them reached a watermark."""
        last = self.state.newest_window
        if last is not None and last.watermark is None and last.lookback_fingerprint:
            return self._news(last)
        return "missing in the lake"

    def _low(self, start: Value) -> Value:
        """Return where reading starts: a look-back before the watermark, or where a settled gap begins."""
        low = self.before(start, self.state.clock).minus(self.state.set_back)
        return min([low, *(gap.low for gap in self.state.settled)])

    def _watermark(self, low: Value | None) -> Value | None:
        """Return how far the table is synced once the window is loaded. What was reached stays reached."""
        reached = self._reached if low is not None else None
        safe = [holder.low for holder in self._holding if holder.low is not None]
        values = [value for value in (self.state.newest_past, self._settled_time, *safe) if value is not None]
        bound = min(values) if self.state.newest_past is not None else None
        return max((value for value in (bound, reached) if value is not None), default=None)

    @property
    def _settled_time(self) -> Value | None:
        """Return the time before which no unseen transaction began; None for cursors that are no time."""
        clock = self.state.clock
        return clock.minus(_UNSEEN) if clock is not None and clock.kind is ValueKind.TIMESTAMP else None

    @cached_property
    def _holding(self) -> list[OpenTransaction]:
        """Return the transactions that hold the watermark back: young ones, below the newest row."""
        newest = self.state.newest_past
        young = [holder for holder in self.state.holders if holder.age <= self.rules.max_hold]
        return [holder for holder in young if holder.low is None or (newest is not None and holder.low < newest)]

    def _gaps(self) -> tuple[Gap, ...]:
        """Return the gaps that are carried on, and a new one for each transaction that is open for too long."""
        seen = self.state
        carried = seen.still_open(seen.gaps)
        known = {gap.session for gap in carried}
        since = seen.clock.text if seen.clock is not None else ""
        new = [
            Gap(holder.low, holder.session, holder.who, since)
            for holder in seen.holders
            if holder.age > self.rules.max_hold and holder.session not in known and holder.low is not None
        ]
        return (*carried, *new)

    @property
    def _dropped(self) -> dict[Value, IncrementalWindow]:
        """Return loaded windows whose entries `retain: {lake: N}` took away: the lake does not lack them."""
        kept, seen = self.rules.retain.lake, self.state
        if kept is None:
            return {}
        beyond = sorted({*seen.in_ledger, *seen.lake})[:-kept]
        return {name: seen.in_ledger[name] for name in beyond if name in seen.in_ledger and name not in seen.lake}

    @property
    def _in_lake(self) -> list[IncrementalWindow]:
        return [*self.state.in_lake.values(), *self._dropped.values()]

    @property
    def _loaded_or_about_to_be(self) -> list[IncrementalWindow]:
        """A file that is there and not loaded is loaded by this very plan."""
        return [*self.state.in_ledger.values(), *self.state.in_lake.values()]

    @cached_property
    def _reached(self) -> Value | None:
        return watermark_of(self._loaded_or_about_to_be, None)

    def _removals(self, extract: Extract | None) -> list[Step]:
        """Return removals of loaded entries beyond `retain: {lake: N}`."""
        seen, coming = self.state, {extract.value} if extract is not None else set[Value]()
        loaded = {*seen.lake} & {*seen.in_ledger}
        return removals_beyond(self.rules.retain.lake, self.request, {*seen.in_ledger, *seen.lake, *coming}, loaded)

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

    def _loads(self) -> Iterator[Load]:
        # When all of it is loaded again, in its order, each file has the last word in its turn.
        loaded = () if self._lost else self.state.in_ledger.values()
        newest = max((window.read_at for window in loaded), default="")
        for batch, file, why in self._to_load():
            entry = self.state.ledger.get(batch)
            generation = entry.generation + 1 if entry else 1
            yield Load(batch, why, generation, file.rows, is_newest=file.read_at >= newest)
            newest = max(newest, file.read_at)

    def _to_load(self) -> list[tuple[Value, LakeEntry, str]]:
        """Return lake entries that the target lacks, in the order in which they were read; all of them when it lost
        rows. A row may be in several windows: those that were read later have the last word, so they follow again."""
        if self.request.reload_all or self.request.reload or self._columns_changed:
            return []
        usable = [(batch, file) for batch, file in sorted(self.state.lake.items()) if not file.broken]
        if self.all_rows:
            usable = usable[-1:]
        if self._lost and self.all_rows:
            return [(batch, file, self._lost) for batch, file in usable]
        if self._lost:
            return [] if self._dropped else [(batch, file, self._lost) for batch, file in usable]
        known = {batch for batch, entry in self.state.ledger.items() if entry.is_active}
        stale = self._loaded_before_an_earlier_one
        first = min((batch for batch, _ in usable if batch not in known or batch in stale), default=None)
        return [
            (batch, file, "an earlier one came later" if batch in known else "in the lake, not in the target")
            for batch, file in usable
            if first is not None and batch >= first
        ]

    @property
    def _loaded_before_an_earlier_one(self) -> set[Value]:
        """Return windows that must follow again: all of them were to be loaded again, and a run stopped on the way."""
        again, found = "", set()
        for batch, entry in sorted(self.state.ledger.items()):
            if entry.kind == "loaded":
                found |= {batch} if entry.at < again else set()
                again = max(again, entry.at) if entry.generation > 1 else again
        return found

    @cached_property
    def _lost(self) -> str:
        held, expected = self.state.target_rows, self.state.expected_rows
        if expected is None or held is None or held >= expected:
            return "gone from the target" if expected and held is None else ""
        return f"the target holds {held:,} of {expected:,} rows"

    # What a person should know

    def _notices(self, extract: Extract | None) -> Iterator[Step]:
        seen, newest = self.state, self.state.newest
        if newest is not None and (seen.newest_past is None or newest > seen.newest_past):
            if newest.kind is ValueKind.INTEGER:  # a counter of the server's, and its own bound
                text = f"changes from {seen.clock} on are read again: a transaction is open"
                yield Notice(text)
            else:
                text = f"cursor values in the future, up to {newest}, are read and do not advance the watermark"
                yield Notice(text, severity="warning")
        if seen.nulls:
            yield Notice(f"{pluralize(seen.nulls, 'row')} without a cursor value: read as they come, never again")
        if not seen.sees_transactions:
            yield Notice("this login may not see open transactions: only the look-back protects from late commits")
        for holder in self._holding if extract is not None else ():
            text = f"the watermark waits at {holder.low}" if holder.low is not None else "the watermark waits"
            yield Notice(f"{text} for {holder}, for {self.rules.max_hold:,} s at most (`max_hold`)")
        for gap in self._gaps():
            text = f"rows from {gap.low} on are read again when session {gap.session.split()[0]} ({gap.who}) ends"
            yield Notice(f"{text} its transaction: it was open for longer than `max_hold`", severity="warning")
        yield from self._surprises()

    def _surprises(self) -> Iterator[Step]:
        seen = self.state
        asked = self.request.reload_all or seen.watermark_set is not None
        restored = self._reached is not None and (seen.newest is None or seen.newest < self._reached)
        if restored and not asked:
            there = f"ends at {seen.newest}" if seen.newest is not None else "is empty"
            text = f"the source {there}, below the watermark {self._reached}: it was restored, or its newest rows left"
            yield Notice(f"{text}; `tidegate run --reload` or `tidegate watermark reset` decides", severity="warning")
        expected, held = seen.expected_rows, seen.target_rows
        if expected is not None and held is not None and held > expected and self.rules.on_target_change != "keep":
            text = f"the target holds {held:,} rows, {expected:,} were there after the last load"
            yield Notice(f"{text}: somebody added {held - expected:,}", severity="warning")

    def _refuse_a_target_that_was_there_before(self) -> None:
        seen = self.state
        known = seen.is_ours or seen.ledger or not seen.target_rows
        if known or self.rules.on_target_change == "restore" or self.request.reload_all:
            return
        raise ForeignTarget(
            f"The target holds {pluralize(seen.target_rows or 0, 'row')} that no ledger knows.",
            "Nothing was written.",
            "`tidegate adopt` takes them over, and the next run brings what is missing or differs;"
            " `tidegate run --reload` does so at once. Nothing is deleted.",
        )
