"""Merge a window of changes by its key: the cost follows the change, not the table.

The keys of the window are staged, and only rows of these keys are read from the target and compared by our own hashes.
Rows that differ are staged and written in one transaction. Inside of it all rows of these keys are read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tidegate.errors import NotNative, Transient, ValueProblem
from tidegate.interfaces.load import (
    Batches,
    Incoming,
    Loaded,
    ReceiptOf,
    acquire_fence,
    proof_failed,
    proved_columns,
    with_entry,
)
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.loads._aside import aside_rows
from tidegate.loads._difference import RowDifference, difference_of
from tidegate.loads._merge_writes import Change, MergeTask
from tidegate.loads._window_rows import WindowRules, chosen_rows, late_rows
from tidegate.model.receipt import Receipt
from tidegate.model.tokens import FeedWindow, IncrementalWindow
from tidegate.sql.contents import both, count_rows
from tidegate.sql.staged import key_is_staged

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Mask


@dataclass(frozen=True, kw_only=True)
class WindowTask(MergeTask):
    """A window of changes. `deletes`: rows leave the target whose key the source no longer has."""

    rules: WindowRules
    events: int | None = None
    """For how many seconds the changes of a change feed are kept; None where they are not."""
    updates: bool = True
    """Rows whose key is there are changed. Otherwise they stay as they are."""


@dataclass(frozen=True)
class Rows:
    """The rows of a window, one of each key, and how many others were left out."""

    batches: Batches
    count: int
    repeated: int = 0
    """How many were left out because another row has their key."""
    kept_out: tuple[Batches, Mask] | None = None
    """Rows among which some stay out of the target, and which those are."""


def merge_window(session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
    """Make the target hold every row of the window, prove it and record it."""
    task: WindowTask = incoming.task
    before = incoming.ledger.newest()
    with ExitStack() as stages:
        request = _touched_rows(session, incoming, stages)
        rows, found = _compared(session, task, request, Rows(incoming.batches, task.entry.rows), stages)
        if found.duplicates[0]:
            chosen = chosen_rows(task, task.rules, task.keys, incoming.batches)
            rows, found = _compared(session, task, request, _selected(task, incoming.batches, chosen), stages)
        late = _late(task, found, rows)
        if task.rules.late == "quarantine" and late.any():
            rows = replace(_selected(task, rows.batches, ~late), repeated=rows.repeated, kept_out=(rows.batches, late))
            request = _rows_of_keys(session, task, rows.batches, stages)
            rows, found = _compared(session, task, request, rows, stages)
        for side, nulls, twice in zip(("source", "target"), found.without_key, found.duplicates, strict=True):
            _require_keys(task, side, nulls, twice)
        expected = _expected(task, found, rows)
        meant = _meant(session, incoming, found, stages)
        files = incoming.files if rows.batches is incoming.batches else None
        change = Change(session, task, meant, rows.batches, stages, files)
        keep_events = kept_events(incoming, task.keys, task.events, stages)
        with session.transaction():
            fenced = acquire_fence(session, task, incoming.ledger)
            if isinstance(fenced, Loaded):
                return fenced
            if incoming.ledger.newest() != before:
                raise _moved(task)
            inserted, updated, deleted = change.apply()
            left = receipt_of(request)
            if not left.same_as(expected):
                raise proof_failed(task, f"expected {expected}, read back {left}")
            _keep_aside(incoming, rows)
            keep_events()
            target_rows = _target_rows(task, session, inserted - deleted)
            incoming.ledger.record(with_entry(fenced, target_rows=target_rows).entry)
    counts = {"inserted": inserted, "updated": updated, "deleted": deleted, **_told_apart(task, rows, int(late.sum()))}
    if not inserted + updated + deleted:
        return Loaded("equal already", counts=counts, warning=_warning(task, int(late.sum())))
    always = ("inserted", "updated", "deleted") if task.updates else ("inserted",)
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count or name in always)
    return Loaded("loaded", inserted + updated, words, counts, _warning(task, int(late.sum())))


def _told_apart(task: WindowTask, rows: Rows, late: int) -> dict[str, int]:
    return {"in quarantine" if task.rules.late == "quarantine" else "late": late, "duplicates": rows.repeated}


def _warning(task: WindowTask, late: int) -> str:
    if not late or task.rules.late == "merge":
        return ""
    if task.rules.late == "report":
        return f"{late:,} late: the cursor of so many rows lies below the watermark that was reached before"
    return (
        f"{late:,} late: so many rows lie below the watermark that was reached before. They are kept in the table"
        " late_arriving_data and not in the target; `late: merge` and `tidegate run --reload` bring them"
    )


def kept_events(incoming: Incoming, keys: Sequence[str], seconds: int | None, stages: ExitStack) -> Callable[[], int]:
    """Return the function that keeps the changes of a change feed as events, inside of the transaction."""
    window = incoming.task.entry.token
    is_feed = isinstance(window, FeedWindow) and not window.whole
    if seconds is None or incoming.keys is None or not is_feed:
        return lambda: 0
    return stages.enter_context(incoming.ledger.events.keep_events(incoming.keys, keys, seconds))


def _touched_rows(session: Session, incoming: Incoming, stages: ExitStack) -> ReadRequest:
    """Return the request of the target's rows that the window may change. A change feed also tells which keys are gone;
    a window that holds the whole table is compared with the whole target."""
    task: WindowTask = incoming.task
    if not task.rules.tells_deletes:
        return _rows_of_keys(session, task, incoming.batches, stages)
    if _is_whole(task):
        return task.request
    assert incoming.keys is not None, "a window of a change feed comes with its changes"
    return _rows_of_keys(session, task, partial(_distinct_keys, task, incoming.keys), stages)


def _is_whole(task: WindowTask) -> bool:
    return isinstance(task.entry.token, FeedWindow) and task.entry.token.whole


def _distinct_keys(task: WindowTask, changes: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the keys of these changes, those of a batch once: a row may have changed a hundred thousand times."""
    import numpy as np
    import pyarrow as pa

    from tidegate.hashing.rows import hash_rows

    for batch in changes():
        keys = batch.select(list(task.keys))
        _, first = np.unique(hash_rows(keys), axis=0, return_index=True)
        yield keys.take(pa.array(np.sort(first)))


def _rows_of_keys(session: Session, task: WindowTask, batches: Batches, stages: ExitStack) -> ReadRequest:
    """Return the request of the rows of the window's keys alone. An empty target is read as it is."""
    if task.rules.target_rows == 0:
        return task.request
    keys = (batch.select(list(task.keys)) for batch in batches())
    stage = stages.enter_context(session.staging_table(task.request.table, task.key_columns, keys))
    staged, present = key_is_staged(stage, task.key_columns), task.request.rows
    return replace(task.request, rows=staged if present is None else both(staged, present))


def _compared(
    session: Session, task: WindowTask, request: ReadRequest, rows: Rows, stages: ExitStack
) -> tuple[Rows, RowDifference]:
    """Return what differs. A column with a value that the source's cannot have is read as text: then no row equals one
    of the source, and all are written again."""
    from tidegate.hashing.arrow import arrow_schema

    while True:
        schema, target = arrow_schema(task.key_columns, request.text_columns), partial(session.read, request)
        try:
            new = proved_columns(task, rows.batches)
            found = difference_of(new, target, schema, task.keys, rows.count, rows.count)
        except NotNative as met:
            if met.column in (*task.keys, *request.text_columns):
                raise
            request = request.with_text((met.column,))
            continue
        stages.enter_context(found.removed)
        return rows, found


def _selected(task: WindowTask, batches: Batches, chosen: object) -> Rows:
    import numpy as np

    from tidegate.hashing.differences import select_rows

    mask, names = np.asarray(chosen, bool), [column.name for column in task.written_columns]
    return Rows(lambda: select_rows(batches(), mask, names), int(mask.sum()), int((~mask).sum()))


def _expected(task: WindowTask, found: RowDifference, rows: Rows) -> Receipt:
    """Return the receipt of the rows of the window's keys after the load."""
    if task.updates:
        return found.new
    from tidegate.hashing.differences import select_rows
    from tidegate.hashing.rows import receipt_of

    names = [column.name for column in task.request.columns]
    return found.old + receipt_of(select_rows(rows.batches(), found.inserted, names))


def _late(task: WindowTask, found: RowDifference, rows: Rows) -> Mask:
    """Return which of the rows that are written lie below the watermark that was reached before."""
    written: Mask = found.inserted | found.changed if task.updates else found.inserted
    late = late_rows(task, task.rules, rows.batches) if written.any() else None
    return written & False if late is None else late & written


def _keep_aside(incoming: Incoming, rows: Rows) -> None:
    """Keep the rows that do not go into the target. Late ones must be kept, or they would be lost."""
    import numpy as np

    task: WindowTask = incoming.task
    aside = incoming.ledger.aside
    if rows.kept_out is not None:
        batches, late = rows.kept_out
        window = task.entry.token
        reached = window.reached if isinstance(window, IncrementalWindow) else None
        assert reached is not None, "without a watermark no row is late"
        aside.keep_late(aside_rows(task, task.keys, batches, late), str(task.rules.cursor), reached.text)
    if rows.repeated and aside.is_there:
        chosen = chosen_rows(task, task.rules, task.keys, incoming.batches)
        others = aside_rows(task, task.keys, incoming.batches, ~np.asarray(chosen, bool))
        rule = f"the row with the greatest {task.rules.cursor} was chosen"
        aside.keep_duplicates(others, task.keys, rule)


def _meant(session: Session, incoming: Incoming, found: RowDifference, stages: ExitStack) -> RowDifference:
    """Return what is to be written: of an append only new rows, and of a key comparison the keys that left, too."""
    import numpy as np

    task: WindowTask = incoming.task
    changed = found.changed if task.updates else np.zeros(len(found.changed), bool)
    if task.rules.tells_deletes:
        return found  # all rows of the keys that changed were compared: those without a counterpart are gone
    if not task.deletes or incoming.keys is None:
        return RowDifference(found.inserted, changed, found.removed)
    left = _keys_that_left(session, task, incoming.keys)
    stages.enter_context(left.removed)
    return RowDifference(found.inserted, changed, left.removed, removed_receipt=left.removed_receipt)


def _keys_that_left(session: Session, task: WindowTask, source_keys: Batches) -> RowDifference:
    """Return the keys of the target that the source did not have when the window was read."""
    from tidegate.hashing.arrow import arrow_schema

    request = task.request.only(task.keys)
    schema = arrow_schema(request.columns, request.text_columns)

    def keys() -> Iterator[pa.RecordBatch]:
        return (batch.select(list(task.keys)) for batch in source_keys())

    count = sum(batch.num_rows for batch in keys())
    most_rows = max(count, task.rules.target_rows or count)
    return difference_of(keys, partial(session.read, request), schema, task.keys, count, most_rows)


def _target_rows(task: WindowTask, session: Session, more: int) -> int:
    """Return how many rows the target has after the load. It is counted where planning could not know."""
    if task.rules.target_rows is not None:
        return task.rules.target_rows + more
    return int(str(session.query(count_rows(task.request.table, task.request.rows))[0][0]))


def _require_keys(task: WindowTask, side: str, without: list[str], twice: list[str]) -> None:
    for examples, what in ((without, "has no value"), (twice, "is not unique")):
        if examples:
            raise ValueProblem(
                f"{task.table}: the key ({', '.join(task.keys)}) {what} in the {side}: {'; '.join(examples)}.",
                "Nothing was loaded; the target keeps what it had.",
                "Name other `keys`, or correct these rows.",
            )


def _moved(task: WindowTask) -> Transient:
    return Transient(
        f"{task.table}: another load came between reading the target and writing to it.",
        "This one was rolled back.",
        "Run again: it completes what is missing.",
    )
