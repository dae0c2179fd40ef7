"""Reading by a mark: from what lake and target hold, a look-back before it, up to a bound that is fixed before reading.

Planning is pure. A batch is a file with the marks that it holds. Batches whose marks follow on one another reach up to
some mark; the smaller of what the lake and what the ledger reach is where reading starts, so that a hole on either side
is read again, never a watermark believed. What is read twice costs a little reading, never a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tidegate.errors import ForeignTarget
from tidegate.model.evidence import LakeFile, PartitionEvidence
from tidegate.model.names import counted
from tidegate.model.plan import RELOAD, Land, Load, Notice, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.values import Kind, Value

ALL = Value.of("all versions", Kind.TEXT)
"""What is verified, adopted and repaired as one."""


_ABOUT_TO_BE = "~"
"""Loaded later than all that was: it sorts after every time."""
_MARKS = ("after", "upto", "mark", "seen_at")


class Rules(Protocol):
    """The settings that planning asks for."""

    @property
    def on_target_change(self) -> str: ...


@dataclass(frozen=True)
class Window:
    """The marks of one batch, both ends included. `mark` is what it reaches up to; rows beyond lie in the future."""

    after: Value | None
    upto: Value | None
    mark: Value | None
    tail: str = ""
    """How many rows the source had from the look-back before `mark` on, and their greatest mark."""
    held: int | None = None
    """How many rows the target had when it was loaded."""
    read_at: str = ""
    is_given: bool = False
    """Somebody handed its rows in: it says nothing of the source."""
    seen_at: Value | None = None
    """When all keys were read besides, on the clock of the marks: what is not among them had left by then."""

    def begins_before(self, other: Window) -> bool:
        """Whether it may hold marks before the last of another; of files without marks that cannot be."""
        return other.upto is not None and (self.after is None or self.after <= other.upto)

    def to_json(self) -> str:
        marks = {name: value and value.text for name, value in self.marks.items()}
        facts = {"tail": self.tail, "held": self.held, "read_at": self.read_at, "is_given": self.is_given}
        return json.dumps({**marks, **facts})

    @property
    def marks(self) -> dict[str, Value | None]:
        return {name: getattr(self, name) for name in _MARKS}

    @classmethod
    def from_json(cls, text: str, kind: Kind) -> Window:
        stored: dict[str, Any] = json.loads(text)
        marks = {name: None if stored.get(name) is None else Value.of(stored[name], kind) for name in _MARKS}
        return cls(
            **marks,
            tail=stored.get("tail", ""),
            held=stored.get("held"),
            read_at=stored.get("read_at", ""),
            is_given=stored.get("is_given", False),
        )


@dataclass(frozen=True)
class MarkEvidence(PartitionEvidence):
    """What is known of a table that is read by a mark. A batch goes by the time in its file's name."""

    in_lake: Mapping[Value, Window] = ()  # type: ignore[assignment]
    in_ledger: Mapping[Value, Window] = ()  # type: ignore[assignment]
    given: Mapping[Value, Window] = field(default_factory=dict)
    """Files of the lake that somebody handed in."""
    next_batch: Value | None = None
    newest: Value | None = None
    """The greatest mark of the source."""
    settled: Value | None = None
    """The greatest that does not lie in the future."""
    tail: str = ""
    floor: Value | None = None
    """Where a first run would begin; None for all."""
    rows: int | None = None
    """How many rows the window would bring, where that was counted."""
    held: int | None = None
    """How many rows the target has; None while there is no table."""
    is_whole: bool = False
    """It has no mark: the whole source is compared, and `tail` is what its content adds up to."""
    in_source: int | None = None
    """How many rows the source has; None where nobody counted."""
    older: int | None = None
    """How many of them are older than the scope and not copied; None where nobody counted."""
    left_out: int = 0
    """How many versions that hold a plain window would leave out."""
    seen_at: Value | None = None
    """The time now on the clock of the marks, where keys are read too."""
    collapses: bool = False
    """Versions are made here, and one that says nothing new leaves no trace: so it matters what came first."""
    is_restored: bool = False
    """The source counts from lower than what was reached: all that came since lies below it."""

    @property
    def held_before(self) -> int | None:
        """How many rows the target had after the last load. Where batches were loaded again and the newest was not
        reached, as many as after that one: the rest is still to come."""
        last = max(self.in_ledger, default=None, key=lambda batch: self.ledger[batch].at)
        newest = max(self.in_ledger, default=None)
        held = [self.in_ledger[batch].held for batch in (last, newest) if batch is not None]
        return max((rows for rows in held if rows is not None), default=None)


def reach(windows: Iterable[Window], floor: Value | None) -> Value | None:
    """How far windows reach that follow on one another, from the floor on; None when there is none at it."""
    reached: Value | None = None
    ordered = sorted(windows, key=lambda one: (one.after is not None, one.after or _LEAST))
    for window in ordered:
        starts_there = window.after is None or (floor is not None and window.after <= floor)
        follows = reached is not None and window.after is not None and window.after <= reached
        if (starts_there or follows) and window.mark is not None and (reached is None or window.mark > reached):
            reached = window.mark
    return reached


_LEAST = Value.of("", Kind.TEXT)


def start_of(in_lake: Iterable[Window], in_ledger: Iterable[Window], floor: Value | None) -> Value | None:
    """The smaller of what lake and ledger reach; None when one of them reaches nothing."""
    lake, ledger = reach(in_lake, floor), reach(in_ledger, floor)
    return None if lake is None or ledger is None else min(lake, ledger)


def as_counted(seen: MarkEvidence, now: Value) -> MarkEvidence:
    """Without what was reached by a count that is no longer the source's: one that only grows and stands lower now was
    restored with its database. Batches before one that reached less than they did are of that other count, too."""
    newest = max(seen.in_lake.items(), default=None) or max(seen.in_ledger.items(), default=None)
    reached = newest[1].mark if newest is not None else None
    return replace(
        seen,
        in_lake=_of_one_count(seen.in_lake, now),
        in_ledger=_of_one_count(seen.in_ledger, now),
        is_restored=reached is not None and reached > now,
    )


def _of_one_count(windows: Mapping[Value, Window], now: Value) -> dict[Value, Window]:
    kept, bound = {}, now
    for batch in sorted(windows, reverse=True):
        mark = windows[batch].mark
        if mark is None or mark <= bound:
            kept[batch], bound = windows[batch], bound if mark is None else mark
    return kept


def plan(rules: Rules, seen: MarkEvidence, asked: Request, look_back: int) -> tuple[Scope, list[Step]]:
    """The scope from now on, and the steps in their order."""
    planner = _Planner(rules, seen, asked, look_back)
    return planner.scope, planner.steps()


@dataclass(frozen=True)
class _Planner:
    rules: Rules
    seen: MarkEvidence
    asked: Request
    look_back: int

    @property
    def scope(self) -> Scope:
        """From the floor of the first run on; a backfill moves it down."""
        known = self.seen.scope or Scope(self._first_floor)
        if self.asked.between is None or known.floor is None:
            return known
        return Scope(min(known.floor, self.asked.between[0]), known.ranges, known.forgotten)

    @property
    def _first_floor(self) -> Value | None:
        """Where a first run begins. When both copies of the scope are lost: where the oldest window begins."""
        windows = (*self.seen.in_lake.values(), *self.seen.in_ledger.values())
        begins = [window.after for window in windows if not window.is_given]
        marks = [begin for begin in begins if begin is not None]
        if len(marks) < len(begins):  # a window without a begin holds everything
            return None
        return min(marks, default=self.seen.floor)

    def steps(self) -> list[Step]:
        self._refuse_a_target_that_was_there_before()
        loads = list[Step](self._loads())
        land = self._land()
        if land is not None:
            exact = bool(self.asked.reload) and not self.seen.is_whole
            loads.append(Load(land.value, land.why, 1, land.rows, exact=exact))
        return [*([land] if land else []), *loads, *self._notices()]

    # The lake

    def _land(self) -> Land | None:
        seen = self.seen
        # Of a source without rows there is nothing to read, unless it is told by that that all have left.
        all_left = seen.seen_at is not None and bool(seen.in_lake)
        if seen.next_batch is None or (seen.newest is None and not all_left):
            return None
        low, why = self._window()
        if not why:
            return None
        window = Window(None, None, None)
        if not seen.is_whole:
            # The row with the greatest mark may be gone: what was reached stays reached.
            marks = (seen.settled, low, reach(seen.in_lake.values(), self.scope.floor))
            reached = max((one for one in marks if one is not None), default=None)
            window = Window(low, seen.newest, reached, seen_at=seen.seen_at)
        return Land(seen.next_batch, why, seen.rows, window=window.to_json())

    def _window(self) -> tuple[Value | None, str]:
        """Where reading starts, and why it is read at all; without a reason there is nothing new."""
        seen, floor = self.seen, self.scope.floor
        if self.asked.reload_all or self.asked.reload:
            return floor, RELOAD
        if self.asked.between is not None:
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
            return None, "" if newest is not None and newest[1].tail == seen.tail else why
        start = start_of(seen.in_lake.values(), self._loaded_or_about_to_be, floor)
        if start is None:
            return floor, "missing in the lake"
        last = max(seen.in_lake.items())[1] if seen.in_lake else None
        reached = reach(self._loaded_or_about_to_be, floor)
        if reached is not None and start < reached:
            return self._before(start), "missing in the lake"
        if last is not None and last.mark == start and last.tail == seen.tail:
            return start, ""
        return self._before(start), "changes in the source"

    def _before(self, mark: Value) -> Value:
        """A look-back before it, and never below the scope."""
        low, floor = mark.less(self.look_back), self.scope.floor
        return low if floor is None or low > floor else floor

    @property
    def _loaded_or_about_to_be(self) -> list[Window]:
        """A file that is there and not loaded is loaded by this very plan."""
        return [*self.seen.in_ledger.values(), *self.seen.in_lake.values()]

    @property
    def _columns_changed(self) -> bool:
        newest = max(self.seen.lake.items(), default=None)
        if newest is None or newest[1].broken:
            return False
        # The ledger knows of a column that had left the source before it came back.
        entry = self.seen.ledger.get(newest[0])
        was_dropped = entry is not None and entry.stands and self.seen.has_other_columns(entry)
        return was_dropped or self.seen.has_other_columns(newest[1])

    # The target

    def _to_load(self) -> list[tuple[Value, LakeFile, str]]:
        """Files that the target lacks, in the order in which they were read; all of them when it lost rows."""
        if self.asked.reload_all or self.asked.reload or self._columns_changed:
            return []
        lost = self._lost()
        usable = [(batch, file) for batch, file in sorted(self.seen.lake.items()) if not file.broken]
        if lost:
            return [(batch, file, lost) for batch, file in usable]
        known = {batch: entry.at for batch, entry in self.seen.ledger.items() if entry.stands}
        coming = [(batch, file, "in the lake, not in the target") for batch, file in usable if batch not in known]
        behind = self._behind(known) if self.seen.collapses else set()
        late = [(batch, file, "an earlier one came later") for batch, file in usable if batch in behind]
        # What was handed in may belong before what was read: that comes after it.
        return sorted([*coming, *late], key=lambda one: (one[0] not in self.seen.given, one[0]))

    def _behind(self, known: Mapping[Value, str]) -> set[Value]:
        """Batches after which something was loaded, or is about to be, that belongs before them.

        What said nothing new beside the version before it may say something beside one that came between. Rows that
        somebody handed in may lie anywhere in time."""
        seen, found = self.seen, set[Value]()
        latest = ""  # when the last of those before was loaded
        for batch in sorted((*seen.in_lake, *seen.given)):
            window, at = seen.in_lake.get(batch), known.get(batch, _ABOUT_TO_BE)
            if window is not None and batch in known:
                given = (
                    known.get(other, _ABOUT_TO_BE) for other, one in seen.given.items() if one.begins_before(window)
                )
                if max((latest, *given)) > at:
                    found.add(batch)
            latest = max(latest, at)
        return found

    def _lost(self) -> str:
        held, expected = self.seen.held, self.seen.held_before
        if expected is None or held is None or held >= expected:
            return "gone from the target" if expected and held is None else ""
        return f"the target holds {held:,} of {expected:,} versions"

    def _loads(self) -> Iterator[Load]:
        # When all of it is loaded again, in its order, each file has the last word in its turn.
        loaded = () if self._lost() else self.seen.in_ledger.values()
        newest = max((window.read_at for window in loaded), default="")
        for batch, file, why in self._to_load():
            entry = self.seen.ledger.get(batch)
            generation = entry.generation + 1 if entry else 1
            yield Load(batch, why, generation, file.rows, is_newest=file.read_at >= newest)
            newest = max(newest, file.read_at)

    # What a person should know

    def _notices(self) -> list[Step]:
        seen, notices = self.seen, list[Step]()
        if seen.newest is None:
            notices.append(Notice("the source holds no versions", severity="warning"))
        elif not seen.is_whole and (seen.settled is None or seen.newest > seen.settled):
            text = f"marks in the future, up to {seen.newest}, are read and do not advance the mark"
            notices.append(Notice(text, severity="warning"))
        if seen.left_out:
            text = f"{counted(seen.left_out, 'version')} that still hold, older than the window: left out"
            notices.append(Notice(f"{text}; `initial_load: latest+window` takes them", severity="warning"))
        expected, held = seen.held_before, seen.held
        if expected is not None and held is not None and held > expected and self.rules.on_target_change != "keep":
            text = f"the target holds {held:,} versions, {expected:,} were there after the last load"
            notices.append(Notice(f"{text}: somebody added {held - expected:,}", severity="warning"))
        return notices

    def _refuse_a_target_that_was_there_before(self) -> None:
        seen = self.seen
        known = seen.is_ours or seen.ledger or not seen.held
        if known or self.rules.on_target_change == "restore" or self.asked.reload_all:
            return
        raise ForeignTarget(
            f"The target holds {counted(seen.held or 0, 'version')} that no ledger knows.",
            "Nothing was written.",
            "`tidegate adopt` takes them over, and the next run brings what is missing and settles the flags of what it"
            " touches; `tidegate run --reload` does so at once. Nothing is deleted.",
        )
