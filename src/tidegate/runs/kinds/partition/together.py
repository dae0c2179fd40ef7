"""Load values under a key that does not contain the partition column, such as `PRIMARY KEY (id)` beside `cob`.

A value comes alone first. Where the server refuses it because of a key, the target is asked which values hold the keys
of its rows; the run extracts all of these values again and loads them in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tidegate.errors import DuplicateKey, OutcomeUnknown, Unsupported
from tidegate.interfaces import Session
from tidegate.loads.replace_partition import Incoming, Replacement, replace_together, values_in_the_way
from tidegate.model.values import Value
from tidegate.runs.loading import LoadSlice, facts_of, receipt_or_other
from tidegate.runs.retry import retried
from tidegate.spark.slices import Facts
from tidegate.spark.worker import Worker

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.loads._unit import Loaded


_SHOWN = 5


@dataclass(frozen=True)
class LoadTogether:
    """Replaces the values of `parts`, sorted by value, in one transaction. Repeating it is harmless."""

    parts: tuple[LoadSlice, ...]
    max_rows: int | None = None

    def move(self, worker: Worker) -> Facts:
        return retried(lambda: self._load(worker))

    def _load(self, worker: Worker) -> Facts:
        """The facts of each value; or, of values that the server refused, which other values are in their way."""
        works = [part.prepared() for part in self.parts]
        self._require_few(works)
        first = self.parts[0]
        with worker.sessions.session(first.database, "load") as session:
            try:
                loaded = self._apply(session, works, worker)
                first.boundary("task committed")
            except OutcomeUnknown:
                # Raises Transient unless the ledger has each value as it was to be loaded.
                loaded = [part.look(work) for part, work in zip(self.parts, works, strict=True)]
            except DuplicateKey as refusal:
                return self._refused(session, works, refusal)
        return {"each": [facts_of(work, one) for work, one in zip(works, loaded, strict=True)]}

    def _apply(self, session: Session, works: Sequence[Replacement], worker: Worker) -> list[Loaded]:
        incoming = [
            Incoming(work, part.book(session), partial(part.batches, work, worker.progress))
            for part, work in zip(self.parts, works, strict=True)
        ]
        return replace_together(session, incoming, lambda request: receipt_or_other(session, request))

    def _refused(self, session: Session, works: Sequence[Replacement], refusal: DuplicateKey) -> Facts:
        found: set[Value | None] = set()
        for part, work in zip(self.parts, works, strict=True):
            found |= values_in_the_way(session, work, partial(_cells, part))
        found -= {work.value for work in works}
        others = [value.text for value in sorted(value for value in found if value is not None)]
        facts: Facts = {
            "outcome": "failed",
            "error": str(_explained(refusal, works[0], others)),
            "kind": "DuplicateKey",
        }
        # Rows without a partition value are nobody's to replace.
        return facts if None in found else {**facts, "held_by": others}

    def _require_few(self, works: Sequence[Replacement]) -> None:
        rows = sum(work.entry.rows for work in works)
        if self.max_rows is not None and rows > self.max_rows and len(works) > 1:
            raise Unsupported(
                f"{works[0].table}: rows went from one value to another, so that {len(works):,} values come in one"
                f" transaction. They have {rows:,} rows, `max_apply_rows` allows {self.max_rows:,}.",
                "The target keeps what it had.",
                "Raise `max_apply_rows`, or add the partition column to the key of the target.",
            )


def _explained(refusal: DuplicateKey, work: Replacement, others: Sequence[str]) -> DuplicateKey:
    """The refusal, with the values that are in the way. A run shows it where it cannot load these values anew."""
    more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
    held_by = f" Rows of {work.column.name} {', '.join(others[:_SHOWN])}{more} have the same keys." if others else ""
    return DuplicateKey(
        refusal.happened + held_by,
        refusal.safe,
        f"{refusal.remedy} Rows of a value that the source no longer has stay in the target, and so do rows that"
        " Tidegate did not load: `tidegate forget` such a value, delete its rows in the target, and run again.",
    )


def _cells(part: LoadSlice, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    size = part.work.request.batch
    for batch in part.lake.batches(part.path, size.rows, size.bytes, names):
        yield batch.select(names)
