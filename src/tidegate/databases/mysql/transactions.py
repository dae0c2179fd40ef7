"""The open transactions that may still write to a table, as the InnoDB monitor shows them.

Facts that shape this file
 * NOW() is the moment when a statement began. So only a transaction that has written, or whose statement holds a table
   for writing right now, can bring a row that is older than this moment.
 * The view INNODB_TRX is no evidence: the server fills it at most once in a tenth of a second, and not at all while
   somebody reads it more often than that. A tool that watches it hid open transactions for as long as it watched. The
   monitor looks at the transactions themselves. It needs the same right (PROCESS).
 * The monitor cannot be part of a larger statement. It is asked after the greatest cursor value: a transaction that
   ended in between is committed, so its rows are there when they are read later.
 * The text has room for one megabyte. Of more, the server leaves out transactions and says so.
 * Which table a transaction wrote to is in no view that every server has. A session without a default database, or of
   another one, may name a table in full, so every writer of the server counts. That costs a little reading: the
   watermark waits where the transaction began, and for `max_hold` at most.
 * A prepared transaction (XA) outlives its session. It has no thread, and may be committed at any time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

MONITOR = "SHOW ENGINE INNODB STATUS"
_LIST = "LIST OF TRANSACTIONS FOR EACH SESSION:"
_NEXT_SECTION = "\n--------\nFILE I/O\n--------\n"
_HEAD = re.compile(r"(?P<id>\S+), ACTIVE (?P<prepared>\(PREPARED\) )?(?P<age>\d+) sec")
_WRITES = re.compile(r"undo log entries [1-9]|tables in use \d+, locked [1-9]")
_THREAD = re.compile(r"^(?:MySQL|MariaDB) thread id (?P<thread>\d+),.* query id \d+ (?P<who>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Writer:
    """A transaction that has written, or is about to."""

    transaction: str
    thread: int
    """0 for a prepared transaction whose session is gone."""
    who: str
    age: int


def writers(monitor: str) -> list[Writer] | None:
    """Return the writing transactions of the monitor's text; None where it does not show all of them."""
    _, begins, rest = monitor.partition(_LIST)
    # A line of hyphens is no end: one follows each transaction that waits for a lock.
    listed, ends, _ = rest.rpartition(_NEXT_SECTION)
    if not begins or not ends or "... truncated" in monitor:
        return None
    return list(_writers(listed))


def _writers(listed: str) -> Iterator[Writer]:
    for block in listed.split("---TRANSACTION ")[1:]:
        head = _HEAD.match(block)
        if head is None or not (head["prepared"] or _WRITES.search(block)):
            continue
        thread = _THREAD.search(block)
        who = thread["who"].strip() if thread else "a prepared transaction"
        yield Writer(head["id"], int(thread["thread"]) if thread else 0, who, int(head["age"]) + 1)


def as_json(found: list[Writer]) -> str:
    """Return the answer of `Session.open_transactions`."""
    return json.dumps(
        [{"session": f"{one.thread} {one.transaction}", "who": one.who, "age": one.age, "wrote": True} for one in found]
    )
