"""Redshift's errors as Tidegate's: what can be repeated and what is final.

Facts that shape this file
 * A serialisable isolation violation is error 1023. It comes with the SQLSTATE of an internal error, so its text tells.
 * A cancelled LOCK and a cancelled query have the same SQLSTATE (57014).
 * Messages of COPY name the file and the column, no value. Other messages may quote values.
"""

from __future__ import annotations

import re

from psycopg import pq

from tidegate.errors import (
    REMEDY_FOR_ALL_ELSE,
    DatabaseError,
    MissingObject,
    Transient,
    Unreachable,
)
from tidegate.model.connection import Connection

_TRANSIENT = ("40001", "40P01", "55P03", "53300", "57P01", "57P02", "57P03", "08000", "08003", "08006", "25P03")
_MISSING = ("42P01", "42703", "42704", "3F000", "3D000")
CANCELLED = "57014"
_VALUE = re.compile(r'(: |value )".*"', re.DOTALL)
_VIOLATION = re.compile(r"\b1023\b|serializable isolation violation", re.IGNORECASE)


class ServerError(Exception):
    """An error that the server answered, or a lost connection (without `state`)."""

    def __init__(self, state: str, message: str, detail: str = "", *, lost: bool = False) -> None:
        super().__init__(state, message)
        self.state, self.message, self.detail, self.lost = state, message, detail, lost

    @classmethod
    def of(cls, link: pq.abc.PGconn, answer: pq.abc.PGresult | None) -> ServerError:
        """Return the error of an answer; that of the connection where there is none."""
        field = pq.DiagnosticField
        texts = [
            ((answer.error_field(name) if answer is not None else None) or b"").decode(errors="replace")
            for name in (field.SQLSTATE, field.MESSAGE_PRIMARY, field.MESSAGE_DETAIL)
        ]
        lost = answer is None or link.status != pq.ConnStatus.OK
        message = texts[1] or link.error_message.decode(errors="replace").strip().split("\n")[0] or "no answer"
        return cls(texts[0], message, texts[2], lost=lost)

    @property
    def is_violation(self) -> bool:
        """Return whether this is error 1023: another transaction came between."""
        return bool(_VIOLATION.search(self.message) or _VIOLATION.search(self.detail))


def translated(problem: ServerError, connection: Connection) -> DatabaseError:
    """Return Tidegate's error. Row values are left out."""
    message = _VALUE.sub(r"\1...", problem.message).rstrip(".")
    if problem.is_violation:
        message = "another transaction came between (error 1023, serializable isolation violation)"
    happened = f"{connection.display}: {message}" + (f" (SQLSTATE {problem.state})." if problem.state else ".")
    if problem.lost or problem.is_violation or problem.state in _TRANSIENT:
        return Transient(happened, "The transaction was rolled back.", "Run again: it completes what is missing.")
    unchanged = "Nothing was changed by this statement."
    if problem.state in _MISSING:
        return MissingObject(happened, unchanged, "Correct the name, or grant the login access to it.")
    if problem.state == "42501":
        return DatabaseError(happened, unchanged, "Grant the login this right (`tidegate grants`), or use another one.")
    if problem.state == CANCELLED:
        return DatabaseError(happened, unchanged, "Raise `query_timeout`, or look for what blocks in SVV_TRANSACTIONS.")
    if "spectrum" in (problem.message + problem.detail).lower():
        remedy = "Check that the IAM role may read the bucket and that both are in one region (`tidegate grants`)."
        return DatabaseError(happened, "The target keeps what it had.", remedy)
    return DatabaseError(happened, "The transaction was rolled back.", REMEDY_FOR_ALL_ELSE)


def unreachable(message: str, connection: Connection) -> Unreachable:
    """Return the error for a login or network problem, with the server's message and a remedy."""
    remedy = "Check host and port, and that the cluster or workgroup is up and can be reached from here."
    if "password" in message or "authentication" in message:
        remedy = "Check user and password, or log in with IAM (`?iam=true`)."
    elif "does not exist" in message:
        remedy = "Check the name of the database and of the user."
    return Unreachable(
        f"No connection to {connection.display}: {message.rstrip('.')}.", "Nothing was read or written.", remedy
    )
