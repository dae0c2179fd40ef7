"""What every kind of table answers to the phases of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tidegate.interfaces import Session
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.coverage import Coverage
from tidegate.model.evidence import LakeFile, LedgerEntry, PartitionEvidence
from tidegate.model.plan import Land, Load, Remove, Request, Step
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison, Finding
from tidegate.model.scope import Scope, ScopeCopies
from tidegate.model.status import TableStatus
from tidegate.model.values import Value
from tidegate.runs.landing import LandSlice
from tidegate.runs.loading import LoadSlice
from tidegate.runs.planned import Planned
from tidegate.runs.proving import CompareSlice
from tidegate.runs.standing import by_value
from tidegate.runs.tables import Catalogs, ResolvedTable
from tidegate.runs.work import Snapshot, Work
from tidegate.spark.slices import Facts, Slice
from tidegate.state.ledger import Ledger


@dataclass(frozen=True)
class Witnesses:
    """One open session on each side, and the lake. `ledger` is None while the target has none."""

    source: Session
    target: Session
    lake: ParquetLake
    ledger: Ledger | None
    target_place: str
    """Where the target is: a lake that several targets share keeps a scope for each."""
    foresee: Callable[[], None] = lambda: None
    """To be called as soon as it is clear that rows will have to be moved, however much is still to be asked."""

    def scope_copies(self, table: ResolvedTable) -> ScopeCopies:
        """Return the table's scope as ledger and lake have it."""
        in_ledger = self.ledger.scope(table.ledger_name) if self.ledger else None
        return ScopeCopies(in_ledger, self.lake.kept_scope(table.lake_table, self.target_place))


class TableKind(ABC):
    """One kind of table. Holds nothing: all it needs is handed in."""

    loads_in: ClassVar[int]
    """Loads go from the smallest number to the greatest, extracts the other way: no fact is ever in the target before
    the row of a dimension that it refers to."""

    known_by_stamp: ClassVar[bool] = True
    """Whether the ledger knows its files by their stamps, so that footers need not be read."""

    updates: ClassVar[bool] = True
    """Whether rows of the target are changed in place."""

    one_at_a_time: ClassVar[bool] = False
    """Whether the loads of one table follow on one another, in the plan's order."""

    # Before Spark

    @abstractmethod
    def resolve(self, settings: Any, catalogs: Catalogs) -> ResolvedTable:
        """The table in both catalogs. Raises MissingObject, Unsupported or DriftStop, each with what to do."""

    @abstractmethod
    def look(self, table: Any, at: Witnesses, *, count_all: bool) -> PartitionEvidence:
        """What source, lake and target say that they hold. Cheap by rule, unless all is to be counted."""

    @abstractmethod
    def plan(self, table: Any, seen: PartitionEvidence, asked: Request) -> tuple[Scope, list[Step]]:
        """What follows. Reads nothing."""

    def coverage(self, table: Any, seen: PartitionEvidence, scope: Scope) -> Coverage:
        """Return how much of the source the scope covers. Reads nothing. A whole table is inside of its scope."""
        has_rows = any(value.rows for value in seen.source.values())
        return Coverage(is_empty=has_rows and not any(seen.target.values()))

    # In the run

    @abstractmethod
    def land_slice(self, work: Work, one: Planned, step: Land, snapshot: Snapshot, name: str) -> LandSlice: ...

    @abstractmethod
    def place(self, work: Work, one: Planned, value: Value) -> Path:
        """Where a file that this run lands is published."""

    def published(self, work: Work, one: Planned, value: Value, facts: Facts) -> list[tuple[Path, Path]]:
        """What a task wrote and where it belongs, in the order in which it is published: the value's own file last."""
        return [(Path(facts["file"]), self.place(work, one, value))]

    @abstractmethod
    def load_slice(self, work: Work, one: Planned, step: Load, path: Path) -> LoadSlice: ...

    def in_one_transaction(self, one: Planned, parts: Sequence[LoadSlice]) -> Slice:
        """The slice that does these loads, sorted by value, in one transaction. Most kinds load one at a time."""
        [part] = parts
        return part

    def loads_singly(self, one: Planned) -> bool:
        """Whether no two loads of this table may run at the same time."""
        return self.one_at_a_time

    def adopted(self, seen: PartitionEvidence) -> Scope:
        """The scope of a target that was there before: from the oldest value that it holds on, so that new values
        follow as they do after a first run."""
        oldest, known = min(seen.target), seen.scope or Scope()
        floor = oldest if known.floor is None else min(oldest, known.floor)
        return Scope(floor, known.ranges, known.forgotten - frozenset(seen.target))

    def left_behind(self, receipt: Receipt) -> str | None:
        """What the ledger's `newest` says of a target that holds this and was adopted."""
        return None

    def status(self, one: Planned) -> TableStatus:
        """Where it stands, for people."""
        return by_value(one)

    # Proof

    @abstractmethod
    def to_verify(self, one: Planned) -> tuple[list[Value], list[Finding]]:
        """What is compared, and why something is not."""

    def compare_slice(self, work: Compared, one: Planned, value: Value) -> Slice:
        """How a value is compared. What the source no longer has is compared with the ledger."""
        seen, table = one.evidence, one.table
        in_source, entry = value in seen.source, seen.ledger.get(value)
        known: LakeFile | LedgerEntry | None = seen.lake.get(value) or entry
        target = table.target_request(value)
        return CompareSlice(
            source=work.source if in_source else None,
            source_request=table.source_request(value) if in_source else None,
            snapshot=work.snapshot.name,
            target=work.target,
            # In the columns of that time.
            target_request=target if in_source or entry is None else table.as_loaded(target, entry),
            text_columns=known.text_columns if known else (),
            keys=table.keys if work.deep and in_source else (),
        )

    @abstractmethod
    def judged(self, one: Planned, value: Value, facts: Facts) -> tuple[Comparison, list[Finding]]:
        """What a comparison says."""


class RemovingKind(TableKind):
    """A kind of table with rules that take values away again."""

    @abstractmethod
    def remove(self, work: Work, one: Planned, step: Remove) -> int:
        """Take away what the rule takes away; how many rows."""


@dataclass(frozen=True)
class Compared:
    """What all comparisons of a verification share."""

    source: Any
    target: Any
    lake: ParquetLake
    snapshot: Snapshot
    deep: bool


def comparison_of(one: Planned, value: Value, facts: Facts) -> Comparison:
    entry, file = one.evidence.ledger.get(value), one.evidence.lake.get(value)
    return Comparison(
        one.key,
        value.text,
        _receipt(facts["source"]),
        _receipt(facts["target"]),
        file.hash if file else "",
        entry.hash if entry else "",
    )


def difference_in_words(comparison: Comparison, keys: Facts | None) -> str:
    source, target = comparison.source, comparison.target
    assert source is not None and target is not None
    text = (
        f"{source.rows:,} rows in the source, {target.rows:,} in the target"
        if source.rows != target.rows
        else "equal counts, other content"
    )
    if comparison.lake_hash and target.hash == comparison.lake_hash:
        text += "; the source changed after it was extracted"
    elif comparison.lake_hash and source.hash == comparison.lake_hash:
        is_loaded = comparison.ledger_hash == comparison.lake_hash
        text += (
            "; the target was changed after it was loaded" if is_loaded else "; what was extracted is not loaded yet"
        )
    for name, found in (keys or {}).items():
        more = ", ..." if found["count"] > len(found["examples"]) else ""
        text += f"; {found['count']:,} {name} ({', '.join(found['examples'])}{more})"
    return text


def _receipt(facts: Facts | None) -> Receipt | None:
    return None if facts is None else Receipt(facts["rows"], facts["hash"])
