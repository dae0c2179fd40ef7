"""Replace a whole table: all rows leave and all rows arrive in one transaction, for tables without a key too.

Rows are deleted, never truncated: readers see the old rows until the commit and the new ones after it, and indexes,
grants and references stay. The table is read back before the commit, as a multiset: equal rows count. Columns that only
the target has keep their values (`_own_columns.py`).
"""

from __future__ import annotations

from tidegate.interfaces import Session
from tidegate.loads._own_columns import own_columns
from tidegate.loads._unit import Batches, Book, Loaded, ReceiptOf, Unit, enter, refused, with_entry
from tidegate.model.receipt import Receipt
from tidegate.sql.contents import delete_rows


def replace(session: Session, work: Unit, book: Book, batches: Batches, receipt_of: ReceiptOf) -> Loaded:
    """The target holds the rows of the file, and no others, when this ends well."""
    expected = Receipt(work.entry.rows, work.entry.hash)
    with (
        session.staged(work.request.table, work.written_columns, batches) as write,
        own_columns(session, work) as kept,
        session.transaction(),
    ):
        entered = enter(session, work, book)
        if isinstance(entered, Loaded):
            return entered
        work = with_entry(entered, newest=expected.as_text())
        if work.look_first and receipt_of(work.request) == expected:
            book.record(work.entry)
            return Loaded("equal already")
        kept.save(None)
        gone = session.execute(delete_rows(work.request.table))
        written = write()
        kept.put_back()
        if written != expected.rows:
            raise refused(work, f"{expected.rows:,} rows were sent, the server took {written:,}")
        found = receipt_of(work.request)
        if found != expected:
            raise refused(work, f"sent {expected}, read back {found}")
        book.record(work.entry)
    return Loaded("loaded", work.entry.rows, f"{gone:,} rows replaced by {written:,}")
