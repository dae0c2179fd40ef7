"""The lock of a table in its target: one run at a time may write the table."""

from __future__ import annotations

import getpass
import os
import socket
import time
from dataclasses import dataclass

from tidegate.errors import Locked
from tidegate.interfaces import Session
from tidegate.sql.text import Literal, sql
from tidegate.state.ledger import own

_TRIES, _SECONDS_BETWEEN = 20, 0.05


@dataclass(frozen=True)
class Holder:
    """The run that took the lock of a table last. Only the server knows whether the run still holds it."""

    table: str
    run: str
    holder: str
    since: str


def take(session: Session, table: str, run: str, now: str = "") -> None:
    """Lock the table until the session ends. Raises Locked with the holder and since when.

    `now` is the time of the server's clock, where the caller has asked for it already."""
    name = f"tidegate table {table}"
    if not session.try_lock(name):
        holder = _holder(session, table)
        if f"({_whoami()})" not in holder or not _comes_free(session, name):
            raise Locked(
                f"{table} is held by {holder}.",
                "Nothing was read or written; the other run goes on undisturbed.",
                "Wait for it to end. A run that died frees its lock by itself.",
            )
    locks = own(session, "locks")
    values = [Literal(table), Literal(run), Literal(f"{run} ({_whoami()})"[:200]), Literal(now or session.now())]
    session.execute_all(
        [
            sql("DELETE FROM {locks} WHERE table_name = {table}", locks=locks, table=Literal(table)),
            sql("INSERT INTO {locks} (table_name, run, holder, since) VALUES ({values})", locks=locks, values=values),
        ]
    )


def newest_run(session: Session, table: str) -> str:
    """Return the run that took the table last. Tasks of other runs must not write: their runs lost the lock."""
    rows = session.query(
        sql("SELECT run FROM {locks} WHERE table_name = {table}", locks=own(session, "locks"), table=Literal(table))
    )
    return str(rows[0][0]) if rows else ""


def holders(session: Session) -> list[Holder]:
    """Return who took the lock of each table last."""
    rows = session.query(sql("SELECT table_name, run, holder, since FROM {locks}", locks=own(session, "locks")))
    return [Holder(*map(str, row)) for row in rows]


def _comes_free(session: Session, name: str) -> bool:
    """A run of this process that has ended a moment ago closed its session; its server may still have to notice."""
    for _ in range(_TRIES):
        time.sleep(_SECONDS_BETWEEN)
        if session.try_lock(name):
            return True
    return False


def _holder(session: Session, table: str) -> str:
    rows = session.query(
        sql(
            "SELECT holder, since FROM {locks} WHERE table_name = {table}",
            locks=own(session, "locks"),
            table=Literal(table),
        )
    )
    return f"{rows[0][0]} since {rows[0][1]}" if rows else "another run that began a moment ago"


def whoami() -> str:
    """Return the user of this process and the machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user} on {socket.gethostname()}"


def _whoami() -> str:
    return f"{whoami()}, process {os.getpid()}"
