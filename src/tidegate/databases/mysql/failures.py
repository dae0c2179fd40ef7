"""Errors of MySQL and MariaDB, sorted into what may be repeated and what is final."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pymysql

from tidegate.errors import (
    REMEDY_FOR_A_KEY,
    REMEDY_FOR_A_RULE,
    REMEDY_FOR_ALL_ELSE,
    DatabaseError,
    DuplicateKey,
    MissingObject,
    TidegateError,
    Transient,
    Unreachable,
    ValueProblem,
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
_NO_ROOM = (1021, 1037, 1041, 1114)
_NOT_IN_A_KEY = (1071, 1170)
_DUPLICATE = 1062
_BREAKS_A_RULE = (_DUPLICATE, 1451, 1452, 1048, 3819, 4025)
_NAMES_ARE_QUOTED = (*_MISSING, *_DENIED, *_NOT_IN_A_KEY)
# Out of range, truncated, no such date, no such character, too long, no such function result, no such document.
NO_ROOM_IN_COLUMN = (1264, 1265, 1292, 1366, 1406, 1411, 3140)
QUOTES = "['`]"
LOST = (2006, 2013, 2014, 0)


@contextmanager
def translated(connection: Connection) -> Iterator[None]:
    """Turns the driver's errors into ours. Row values, which the server's message may quote, are left out."""
    try:
        yield
    except pymysql.Error as problem:
        raise _ours(problem, connection) from None
    except (OSError, EOFError) as problem:
        raise _lost(connection, str(problem) or "the connection was lost") from None


def _ours(problem: pymysql.Error, connection: Connection) -> DatabaseError:
    code, said = code_of(problem), _said(problem)
    happened = f"{connection.display}: {said} (error {code})."
    if code in _TRANSIENT or isinstance(problem, pymysql.InterfaceError):
        return _lost(connection, f"{said} (error {code})")
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
    return DatabaseError(happened, "The transaction was rolled back.", _remedy(code))


def _lost(connection: Connection, said: str) -> Transient:
    return Transient(
        f"{connection.display}: {said}.",
        "The transaction was rolled back.",
        "Run again: it completes what is missing.",
    )


def _remedy(code: int) -> str:
    if code == _DUPLICATE:
        return f"{REMEDY_FOR_A_KEY} Also, a collation may take two texts for one."
    if code in _BREAKS_A_RULE:
        return REMEDY_FOR_A_RULE
    if code in _NOT_IN_A_KEY:
        return "A key of the target cannot have such a column: drop that key there, or load into another table."
    if code in _NO_ROOM:
        return "Make room on the server, then run again."
    return REMEDY_FOR_ALL_ELSE


def code_of(problem: BaseException) -> int:
    return problem.args[0] if problem.args and isinstance(problem.args[0], int) else 0


def _said(problem: pymysql.Error) -> str:
    """What is quoted may be a value, and a value may hold quotes: only what stands before the first is repeated."""
    said = str(problem.args[1] if len(problem.args) > 1 else problem or "no answer").strip().rstrip(".")
    return said if code_of(problem) in _NAMES_ARE_QUOTED else re.split(QUOTES, said)[0].strip()


def not_taken(table: str, columns: Sequence[Column], code: int, said: str) -> TidegateError:
    """A value that the server would not store as it is. LOAD DATA LOCAL only warns of it; for us it is a refusal."""
    if code in _BREAKS_A_RULE:
        kind = DuplicateKey if code == _DUPLICATE else ValueProblem
        return kind(
            f"{table}: the target refused a row that came: {re.split(QUOTES, said)[0].strip()} (error {code}).",
            "The load was rolled back; the target keeps what it had.",
            _remedy(code),
        )
    spelled = {name: (f"'{name}'", "`" + name.replace("`", "``") + "`") for name in (one.name for one in columns)}
    named = [
        name for name, ways in spelled.items() if any(f"column {way} " in said or f".{way} " in said for way in ways)
    ]
    which = f"column {max(named, key=len)}" if named else "one of its columns"
    # Of the server's own words only those before the value, which must not be repeated.
    reason = re.split(r"[:'`]", said)[0].strip().removesuffix("for column").strip()
    return ValueProblem(
        f"{table}: {which} has no room in the target for a value that came: {reason} (error {code}).",
        "The load was rolled back; the target keeps what it had.",
        "Give the target's column a type that takes these values, or read the column as text (`columns:`) into one.",
    )


def unreachable(problem: BaseException, connection: Connection) -> DatabaseError:
    """A login or network problem, in the server's own words and with what to look at. One that is full may have room
    later."""
    said = str(problem.args[1] if len(problem.args) > 1 else problem).strip().rstrip(".")
    code = code_of(problem)
    if code in _FULL:
        return _lost(connection, f"{said} (error {code})")
    remedy = "Check host and port, and that the server is up."
    if code in _REFUSED_LOGIN:
        remedy = "Check user and password; a password in a URL must be percent-encoded."
    elif code in (1049, 1044):
        remedy = "Check the name of the database, and that this user may use it."
    elif "TLS" in said or "SSL" in said or "certificate" in said:
        remedy = "Name the server's authority with `ssl_ca`, or lower `ssl_mode` if you accept what that means."
    return Unreachable(f"No connection to {connection.display}: {said}.", "Nothing was read or written.", remedy)
