"""Merge a whole table by its key.

Which rows differ is told by our own hashes of both sides, so that case, blanks and nulls count as they are. Only those
rows travel: into staging tables first, then in one transaction into the table. Inside of it the rows that were touched
are read back: every row of the source must be there as it left, and nothing else where deletes are allowed. All other
rows were read and compared before. What somebody else changes meanwhile is seen by the next plan, since the ledger has
the receipt of what the table should hold.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from tidegate.errors import NotNative, Transient, ValueProblem
from tidegate.interfaces.load import (
    Batches,
    Files,
    LedgerView,
    Loaded,
    ReceiptOf,
    acquire_fence,
    proof_failed,
    proved_columns,
    with_entry,
)
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.loads._difference import RowDifference, difference_of
from tidegate.loads._merge_writes import Change, MergeTask
from tidegate.model.receipt import Receipt
from tidegate.model.state import LedgerEntry


def merge_whole_table(
    session: Session,
    task: MergeTask,
    ledger: LedgerView,
    batches: Batches,
    receipt_of: ReceiptOf,
    files: Files | None = None,
) -> Loaded:
    """Make the target hold every row of the entry, and no other where deletes are allowed."""
    before = ledger.newest()
    with ExitStack() as stages:
        found, held = _difference(session, task, batches, before)
        stages.enter_context(found.removed)
        for side, nulls, twice in zip(("source", "target"), found.without_key, found.duplicates, strict=True):
            _require_keys(task, side, nulls, twice)
        change = Change(session, task, found, batches, stages, files)
        with session.transaction():
            fenced = acquire_fence(session, task, ledger)
            if isinstance(fenced, Loaded):
                return fenced
            if ledger.newest() != before:
                raise _moved(task)
            fresh, changed, gone = change.apply()
            is_alike = held.text_columns == task.request.text_columns
            left = _proven(fenced, session, found, change.touched if is_alike else None, batches, receipt_of)
            ledger.record(with_entry(fenced, target_rows=left.rows, target_hash=left.hash).entry)
    counts = {"inserted": fresh, "updated": changed, "deleted": gone}
    if not fresh + changed + gone:
        return Loaded("equal already", counts=counts)
    met = "; somebody had changed rows of the target" if _is_unlike(task, found.old, before) else ""
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return Loaded("loaded", fresh + changed, words + met, counts)


def _is_unlike(task: MergeTask, old: Receipt, before: LedgerEntry | None) -> bool:
    """Return whether the target held something else than the last load left there, where both were read alike."""
    if before is None or before.kind != "loaded":
        return False
    alike = (before.columns, before.text_columns) == (task.entry.columns, task.request.text_columns)
    return alike and before.target_receipt != old


def _difference(
    session: Session, task: MergeTask, batches: Batches, before: LedgerEntry | None
) -> tuple[RowDifference, ReadRequest]:
    """Return what differs, and how the target was read. A column with a value that the source's cannot have is read as
    text: then no row equals one of the source, and all are written again."""
    request = task.request
    most_rows = max(task.entry.rows, (before.target_rows if before else None) or 0)
    while True:
        try:
            return _compared(session, task, batches, request, most_rows), request
        except NotNative as met:
            if met.column in (*task.keys, *request.text_columns):
                raise
            request = request.with_text((met.column,))


def _compared(
    session: Session, task: MergeTask, batches: Batches, request: ReadRequest, most_rows: int
) -> RowDifference:
    from tidegate.hashing.arrow import arrow_schema

    schema, target = arrow_schema(task.key_columns, request.text_columns), partial(session.read, request)
    return difference_of(proved_columns(task, batches), target, schema, task.keys, task.entry.rows, most_rows)


def _require_keys(task: MergeTask, side: str, without: list[str], twice: list[str]) -> None:
    key = ", ".join(task.keys)
    for examples, what in ((without, "has no value"), (twice, "is not unique")):
        if examples:
            raise ValueProblem(
                f"{task.table}: the key ({key}) {what} in the {side}: {'; '.join(examples)}.",
                "Nothing was loaded; the target keeps what it had.",
                "Name other `primary_keys`, correct these rows, or use `merge_strategy: replace`, which needs no key.",
            )


def _moved(task: MergeTask) -> Transient:
    return Transient(
        f"{task.table}: another load came between reading the target and writing to it.",
        "This one was rolled back.",
        "Run again: it completes what is missing.",
    )


def _proven(
    task: MergeTask,
    session: Session,
    found: RowDifference,
    touched: ReadRequest | None,
    batches: Batches,
    receipt_of: ReceiptOf,
) -> Receipt:
    """Return the receipt of what the target holds now. Raises ProofFailed.

    Every row of the target was read before the transaction. So only rows that were touched are read back, where they
    are few: `touched` is how. None reads all of them."""
    expected = found.new if task.deletes else found.new + found.removed_receipt
    if found.old == expected or (touched is not None and receipt_of(touched) == found.coming_receipt):
        return expected
    held = receipt_of(task.request)
    if held.same_as(expected):
        return held
    again = _compared(session, task, batches, task.request, found.old.rows)
    with again.removed:
        missing, unlike, more = again.counts
    besides = 0 if task.deletes else found.removed_receipt.rows
    difference = f"{missing:,} rows missing, {unlike:,} unlike, {more - besides:,} too many of {found.new.rows:,}"
    raise proof_failed(task, difference)
