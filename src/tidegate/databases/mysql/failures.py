"""Errors of MySQL and MariaDB as Tidegate's: what can be repeated and what is final."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pymysql

from tidegate.errors import (
    REMEDY_FOR_A_KEY,
    REMEDY_FOR_A_RULE,
    REMEDY_FOR_ALL_ELSE,
    BrokenReference,
    DatabaseError,
    DuplicateKey,
    MissingObject,
    TidegateError,
    Transient,
    Unreachable,
    ValueProblem,
    remedy_for_a_value,
)
from tidegate.model.columns import Column
from tidegate.model.connection import Connection

# Lock time-out, deadlock, a node that is not ready, server stopping, connection killed or lost.
_TRANSIENT = (1047, 1053, 1158, 1159, 1160, 1161, 1205, 1213, 1927, 2006, 2013, 2014, 3058, 3101, 3169, 4031)
_FULL = (1040, 1203, 1226)
_MISSING = (1146, 1054, 1049, 1051, 1305)
_DENIED = (1044, 1142, 1143, 1227, 1290, 1370, 1410, 1792)
_TIMEOUT = (1317, 1969, 3024)
_REFUSED_LOGIN = (1045, 1698, 2059)
_DISK_FULL = (1021, 1037, 1041, 1114)
_NOT_IN_A_KEY = (1071, 1170)
_DUPLICATE = 1062
_REFERENCES = (1451, 1452)
_CONSTRAINTS = (_DUPLICATE, *_REFERENCES, 1048, 3819, 4025)
_NAMES_ARE_QUOTED = (*_MISSING, *_DENIED, *_NOT_IN_A_KEY)
# Out of range, truncated, no such date, no such character, too long, no such function result, no such document.
VALUE_REFUSED = (1264, 1265, 1292, 1366, 1406, 1411, 3140)
QUOTES = "['`]"
LOST = (2006, 2013, 2014, 0)


@contextmanager
def translated(connection: Connection) -> Iterator[None]:
    """Turn errors of the driver into Tidegate's. Row values, which the server's message may quote, are left out."""
    try:
        yield
    except pymysql.Error as problem:
        raise _as_tidegate_error(problem, connection) from None
    except (OSError, EOFError) as problem:
        raise _lost(connection, str(problem) or "the connection was lost") from None


def _as_tidegate_error(problem: pymysql.Error, connection: Connection) -> DatabaseError:
    code, message = code_of(problem), _server_message(problem)
    happened = f"{connection.display}: {message} (error {code})."
    if code in _TRANSIENT or isinstance(problem, pymysql.InterfaceError):
        return _lost(connection, f"{message} (error {code})")
    if code in _MISSING:
        return MissingObject(
            happened,
            "Nothing was changed by this statement.",
            "Correct the name, or grant the login access to it.",
        )
    if code in _DENIED:
        return DatabaseError(
            happened,
            "Nothing was changed by this statement.",
            "Grant the login this right, or use another login.",
        )
    if code in _TIMEOUT:
        return DatabaseError(
            happened,
            "Nothing was changed by this statement.",
            "Raise `query_timeout`, or add an index on the partition column.",
        )
    if code == _DUPLICATE:
        return DuplicateKey(happened, "The transaction was rolled back.", _remedy(code))
    if code in _REFERENCES:
        return BrokenReference(happened, "The transaction was rolled back.", _remedy(code))
    return DatabaseError(happened, "The transaction was rolled back.", _remedy(code))


def _lost(connection: Connection, message: str) -> Transient:
    return Transient(
        f"{connection.display}: {message}.",
        "The transaction was rolled back.",
        "Run again: it completes what is missing.",
    )


def _remedy(code: int) -> str:
    if code == _DUPLICATE:
        return f"{REMEDY_FOR_A_KEY} Two texts may also be equal by the collation of the key."
    if code in _CONSTRAINTS:
        return REMEDY_FOR_A_RULE
    if code in _NOT_IN_A_KEY:
        return "MySQL cannot have this column in a key: drop that key in the target, or load into another table."
    if code in _DISK_FULL:
        return "Free space on the server, then run again."
    return REMEDY_FOR_ALL_ELSE


def code_of(problem: BaseException) -> int:
    return problem.args[0] if problem.args and isinstance(problem.args[0], int) else 0


def _server_message(problem: pymysql.Error) -> str:
    """Return the server's message up to the first quote: a value may follow, and may hold quotes itself."""
    message = str(problem.args[1] if len(problem.args) > 1 else problem or "no answer").strip().rstrip(".")
    return message if code_of(problem) in _NAMES_ARE_QUOTED else re.split(QUOTES, message)[0].strip()


def value_refused(table: str, columns: Sequence[Column], code: int, message: str) -> TidegateError:
    """Return the error for a value that the server cannot store unchanged. LOAD DATA LOCAL only warns of it."""
    if code in _CONSTRAINTS:
        kind = DuplicateKey if code == _DUPLICATE else BrokenReference if code in _REFERENCES else ValueProblem
        return kind(
            f"{table}: the target refused a row: {re.split(QUOTES, message)[0].strip()} (error {code}).",
            "The load was rolled back; the target keeps what it had.",
            _remedy(code),
        )
    named = [
        column.name
        for column in columns
        if any(
            f"column {quoted} " in message or f".{quoted} " in message
            for quoted in (f"'{column.name}'", "`" + column.name.replace("`", "``") + "`")
        )
    ]
    name = max(named, key=len) if named else ""
    which = f"column {name}" if name else "one of its columns"
    # Only the server's words before the value: values are never shown.
    reason = re.split(r"[:'`]", message)[0].strip().removesuffix("for column").strip()
    return ValueProblem(
        f"{table}: {which} cannot store a value in the target: {reason} (error {code}).",
        "The load was rolled back; the target keeps what it had.",
        remedy_for_a_value(name) if name else remedy_for_a_value(),
    )


def unreachable(problem: BaseException, connection: Connection) -> DatabaseError:
    """Return the error for a login or network problem, with the server's message and a remedy.

    Transient if the server has too many connections."""
    message = str(problem.args[1] if len(problem.args) > 1 else problem).strip().rstrip(".")
    code = code_of(problem)
    if code in _FULL:
        return _lost(connection, f"{message} (error {code})")
    remedy = "Check host and port, and that the server is up."
    if code in _REFUSED_LOGIN:
        remedy = "Check user and password; a password in a URL must be percent-encoded."
    elif code in (1049, 1044):
        remedy = "Check the name of the database, and that this user may use it."
    elif "TLS" in message or "SSL" in message or "certificate" in message:
        remedy = "Name the file of the server's certificate authority with `ssl_ca`, or choose a weaker `ssl_mode`."
    return Unreachable(f"No connection to {connection.display}: {message}.", "Nothing was read or written.", remedy)
