"""PostgreSQL's errors as Tidegate's: what can be repeated and what is final."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg

from tidegate.errors import (
    REMEDY_FOR_A_KEY,
    REMEDY_FOR_A_RULE,
    REMEDY_FOR_ALL_ELSE,
    BrokenReference,
    DatabaseError,
    DuplicateKey,
    MissingObject,
    Transient,
    Unreachable,
    ValueProblem,
    remedy_for_a_value,
)
from tidegate.model.columns import Column
from tidegate.model.connection import Connection

# Deadlock, serialisation, lock time-out, too many connections, server stopping or starting, connection lost.
_TRANSIENT = (
    "40001",
    "40P01",
    "55P03",
    "53300",
    "57P01",
    "57P02",
    "57P03",
    "08000",
    "08003",
    "08006",
    "25P03",
)
_MISSING = ("42P01", "42703", "42704", "3F000", "3D000")
_DENIED = ("42501",)
_STATEMENT_TIMEOUT = "57014"
_DUPLICATES = ("23505", "23P01")
_REFERENCES = ("23503", "23001")
# How messages quote a value. Other quotes are around names, which may be shown.
_VALUE = re.compile(r'(: |value )".*"', re.DOTALL)


@contextmanager
def translated(connection: Connection) -> Iterator[None]:
    """Turn errors of the driver into Tidegate's. Row values, which the server's detail may quote, are left out."""
    try:
        yield
    except psycopg.Error as problem:
        raise _as_tidegate_error(problem, connection) from None


def _as_tidegate_error(problem: psycopg.Error, connection: Connection) -> DatabaseError:
    state = problem.sqlstate or ""
    message = problem.diag.message_primary or str(problem).strip().split("\n")[0]
    if state.startswith("22"):
        message = _VALUE.sub(r"\1...", message)
    happened = f"{connection.display}: {message}" + (f" (SQLSTATE {state})." if state else ".")
    if state in _MISSING:
        return MissingObject(
            happened,
            "Nothing was changed by this statement.",
            "Correct the name, or grant the login access to it.",
        )
    if state in _DENIED:
        return DatabaseError(
            happened,
            "Nothing was changed by this statement.",
            "Grant the login this right, or use another login.",
        )
    if state == _STATEMENT_TIMEOUT:
        return DatabaseError(
            happened,
            "Nothing was changed by this statement.",
            "Raise `query_timeout`, or add an index on the partition column.",
        )
    lost = not state and isinstance(problem, psycopg.OperationalError)
    if lost or state in _TRANSIENT:
        return Transient(happened, "The transaction was rolled back.", "Run again: it completes what is missing.")
    if state in _DUPLICATES:
        return DuplicateKey(happened, "The transaction was rolled back.", REMEDY_FOR_A_KEY)
    if state in _REFERENCES:
        return BrokenReference(happened, "The transaction was rolled back.", _remedy(state))
    return DatabaseError(happened, "The transaction was rolled back.", _remedy(state))


def value_refused(problem: psycopg.Error, table: str, columns: Sequence[Column]) -> ValueProblem:
    """Return the error for a value that the server refuses to store. The context of COPY names its column."""
    context = problem.diag.context or ""
    named = [column.name for column in columns if f", column {column.name}: " in context]
    name = max(named, key=len) if named else ""
    message = _VALUE.sub(r"\1...", problem.diag.message_primary or "").rstrip(": .")
    found = _value_problem(table, name, f"{message} (SQLSTATE {problem.sqlstate})")
    quoted = context.partition(f", column {name}: ")[2].split("\n")[0] if name else ""
    if quoted.startswith('"') and quoted.endswith('"'):
        found.refused = (name, quoted[1:-1])
    return found


class NotWritable(Exception):
    """A value of this column must not be sent to the server, and why."""

    def __init__(self, column: str, why: str) -> None:
        super().__init__(column, why)
        self.column, self.why = column, why


def nul_character(column: str) -> NotWritable:
    return NotWritable(column, "PostgreSQL's text types cannot hold U+0000")


def not_writable(problem: NotWritable, table: str) -> ValueProblem:
    return _value_problem(table, problem.column, problem.why)


def snapshot_gone(connection: Connection) -> DatabaseError:
    """Return an error that is not Transient: a retry on the same snapshot cannot succeed."""
    return DatabaseError(
        f"{connection.display}: the snapshot of this run is gone: the server ended the session that exported it.",
        "Tables that were not read yet are unchanged in the lake and in the target.",
        "Run again. A standby ends sessions that block its replay: set hot_standby_feedback = on there, or raise"
        " its max_standby_streaming_delay.",
    )


def _value_problem(table: str, column: str, why: str) -> ValueProblem:
    which = f"column {column}" if column else "one of its columns"
    return ValueProblem(
        f"{table}: {which} cannot store a value in the target: {why}.",
        "The load was rolled back; the target keeps what it had.",
        remedy_for_a_value(column) if column else remedy_for_a_value(),
    )


def _remedy(state: str) -> str:
    if state.startswith("23"):
        return REMEDY_FOR_A_RULE
    if state.startswith("53"):
        return "Free space on the server, then run again."
    return REMEDY_FOR_ALL_ELSE


def unreachable(problem: psycopg.Error, connection: Connection) -> Unreachable:
    """Return the error for a login or network problem, with the server's message and a remedy."""
    message = (problem.diag.message_primary if problem.sqlstate else "") or _network_message(str(problem))
    remedy = "Check host and port, and that the server is up."
    if "password" in message or "authentication" in message or (problem.sqlstate or "").startswith("28"):
        remedy = "Check user and password; a password in a URL must be percent-encoded."
    elif "does not exist" in message:
        remedy = "Check the name of the database and of the user."
    return Unreachable(f"No connection to {connection.display}: {message}.", "Nothing was read or written.", remedy)


def _network_message(text: str) -> str:
    """Return what libpq says of the network. Its last line asks a question where nothing listens on the port."""
    if "Connection refused" in text:
        return "nothing listens on this host and port (connection refused)"
    if "timeout expired" in text or "Connection timed out" in text:
        return "no answer in time; `connect_timeout` of the URL says how long to wait"
    return _last_line(text)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "no answer"
