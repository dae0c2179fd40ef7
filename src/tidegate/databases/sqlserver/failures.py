"""Errors of SQL Server as Tidegate's: what can be repeated and what is final.

Facts that shape this file
 * The driver gives the text and the class of an error, not its number. The session asks for the number (@@ERROR) while
   the connection is open.
 * The bulk copy has a connection of its own, which cannot be asked. Its text has the number of a server's error.
 * A compatible server has error numbers of its own, greater than all of SQL Server's.
 * With XACT_ABORT every error ends the transaction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
)
from tidegate.model.columns import Column
from tidegate.model.connection import Connection

_GREATEST_NUMBER = 1 << 24
LOST = -1
"""In place of an error number: the connection is lost, and the answer with it."""
_LOCKS = (
    *(1204, 1205, 1222, 3935, 3960, 3961, 10922, 13535),
    *(3947, 3948, 3958, 3966, 3967),  # a replica changed its role, or no longer has the row versions
    *(41301, 41302, 41305, 41325, 41839),
)
_UNAVAILABLE = (
    *(615, 921, 926, 4060, 4221, 10928, 10929, 10936, 40020, 40143, 40166, 40197, 40501, 40540, 40613, 42108, 42109),
    *(49918, 49919, 49920, 4891, 6005),
    *(596, 976, 983, 988),  # the session was killed; a replica is neither primary nor readable now
)
_MISSING = (207, 208, 2812, 3701, 4902)
_DENIED = (229, 230, 262, 297, 300, 916, 1088, 2759, 2760, 15247, 15151)
_DISK_FULL = (701, 1101, 1105, 8645, 8651, 9002)
_READ_ONLY_DATABASE, _READ_ONLY_FILEGROUP = 3906, 652
_NO_SNAPSHOT_IN_OTHER_DATABASE = (3952, 3996)
_UNKNOWN_COLLATION, _UNKNOWN_TYPE, _ROW_TOO_LONG, _NO_LOCKS_IN_MEMORY = 448, 2715, 511, 10794
_DUPLICATES, _CONSTRAINTS = (2601, 2627), (515, 547)
_REFERENCE = 547
# The error of a check constraint has the same number.
_FOREIGN = re.compile(r"FOREIGN KEY|REFERENCE constraint|violates foreign key")
VALUE_REFUSED = (
    *(220, 232, 241, 242, 244, 245, 248, 295, 2628, 6355, 6522),
    *(8114, 8115, 8152, 8169, 9400, 9402, 13609),
)
_NAMES_ARE_QUOTED = (*_MISSING, *_DENIED, *_DUPLICATES, *_CONSTRAINTS, _UNKNOWN_COLLATION, _UNKNOWN_TYPE)
_A_VALUE_FOLLOWS = "The duplicate key value is"
_QUOTED = re.compile(r"['\"(].*['\")]")
_TEXTS = (
    (re.compile(r"lock (request )?time ?out", re.I), 1222),
    (re.compile(r"deadlock|snapshot isolation transaction aborted", re.I), 1205),
    (re.compile(r"invalid object name|relation .* does not exist", re.I), 208),
    (re.compile(r"invalid column name|column .* does not exist", re.I), 207),
    (re.compile(r"violates foreign key constraint|violates check constraint", re.I), 547),
    (re.compile(r"permission was denied|permission denied", re.I), 229),
)
_LOST = re.compile(
    r"communication link|connection (was|is|has been)? ?(lost|broken|closed|reset|terminated|refused|aborted)"
    r"|closed connection|broken pipe|end of (file|stream)|unexpected eof|tcp provider|not connected"
    r"|administrator command|shutting down|kill state"
    r"|timed out",
    re.IGNORECASE,
)
_CERTIFICATE = re.compile(r"certificate|ssl|tls|encrypt", re.IGNORECASE)
_LOGIN = re.compile(r"login failed|18456", re.IGNORECASE)
_TEMPORARY = re.compile(  # a database that resumes or fails over, a server that starts or is overloaded
    r"is not currently available|currently (too )?busy|not enough resources|too many (create or update )?operations"
    r"|not accessible for queries|being recovered|not been recovered yet|resource limit|limit for the .*been reached"
    r"|error processing your request|in script upgrade mode|shutdown is in progress|login to read-secondary failed"
    r"|not in the primary or secondary role|may be offline|wait and try again|retry the (connect|request|transact)",
    re.IGNORECASE,
)
_NO_DATABASE = re.compile(r"cannot open database|database .* does not exist", re.IGNORECASE)  # also ends "login failed"
_NO_DRIVER = re.compile(r"failed to load the driver", re.IGNORECASE)
_IN_COPY = re.compile(r"Sql Error: (\d+): Class \d+: State \d+: ")
_OUR_LIMIT = re.compile(r"timeout expired|bulk copy operation timed out after", re.IGNORECASE)
_PREFIX = re.compile(r"^(Driver Error: .*?; DDBC Error: )?(\[[^\]]*\])*\s*", re.DOTALL)


def is_lost(problem: BaseException) -> bool:
    """Return whether the connection is lost, and the answer with it."""
    return _LOST.search(str(problem)) is not None


def as_tidegate_error(problem: BaseException, number: int, connection: Connection) -> DatabaseError:
    """Return an error of the driver as one of Tidegate's. Row values, which the message may quote, are left out."""
    timed_out = _OUR_LIMIT.search(str(problem)) is not None
    by_text = not number and not timed_out
    is_unavailable = number == LOST or (by_text and (is_lost(problem) or _TEMPORARY.search(str(problem)) is not None))
    number = number if 0 < number < _GREATEST_NUMBER else 0
    number = number or next((known for pattern, known in _TEXTS if pattern.search(str(problem))), 0)
    suffix = f" (error {number})" if number else ""
    happened = f"{connection.display}: {_server_message(problem, number)}{suffix}."
    if number in (*_LOCKS, *_UNAVAILABLE) or is_unavailable:
        return Transient(happened, "The transaction was rolled back.", "Run again: it completes what is missing.")
    if number in _MISSING:
        remedy = "Correct the name, or grant the login access to it."
        return MissingObject(happened, "Nothing was changed by this statement.", remedy)
    if number in _DENIED:
        remedy = "Grant the login this right (`tidegate grants` prints the script), or use another login."
        return DatabaseError(happened, "Nothing was changed by this statement.", remedy)
    if timed_out:
        remedy = "Raise `query_timeout`, or add an index on the partition column."
        return DatabaseError(happened, "Nothing was changed by this statement.", remedy)
    if number in _DUPLICATES:
        return DuplicateKey(happened, "The transaction was rolled back.", REMEDY_FOR_A_KEY)
    if number == _REFERENCE and _FOREIGN.search(str(problem)):
        return BrokenReference(happened, "The transaction was rolled back.", _remedy(number))
    return DatabaseError(happened, "The transaction was rolled back.", _remedy(number))


def bulk_copy_error(problem: BaseException, connection: Connection) -> DatabaseError:
    """Return an error of the bulk copy as one of Tidegate's. Its number is in the text."""
    found = _IN_COPY.search(str(problem))
    number = int(found[1]) if found else 0
    return as_tidegate_error(problem, number if number < _GREATEST_NUMBER else 0, connection)


def _remedy(number: int) -> str:
    if number in _CONSTRAINTS:
        return REMEDY_FOR_A_RULE
    if number in _DISK_FULL:
        return "Free space on the server (data, log or memory, as the message says), then run again."
    if number == _READ_ONLY_FILEGROUP:
        return "Make the filegroup writable, or leave the values in it out of the table's scope."
    if number == _READ_ONLY_DATABASE:
        return "Name a writable database (the primary of an availability group, not a replica), or make it writable."
    if number in _NO_SNAPSHOT_IN_OTHER_DATABASE:
        return (
            "The view or synonym reads another database, which must allow snapshots, too: ALTER DATABASE ... SET"
            " ALLOW_SNAPSHOT_ISOLATION ON. A linked server has no snapshots: name that server as the source."
        )
    if number in (_UNKNOWN_COLLATION, _UNKNOWN_TYPE):
        return "The target is older than the source: create the table there by hand, with a type that it knows."
    if number == _ROW_TOO_LONG:
        return "A row has 8060 bytes at most, also in the wider staging table: load the columns as two tables."
    if number == _NO_LOCKS_IN_MEMORY:
        return "Load into a table on disk: a memory-optimized table has no locks, which loads of changed rows need."
    return REMEDY_FOR_ALL_ELSE


def _server_message(problem: BaseException, number: int) -> str:
    """Return the server's message without quoted parts: they may be row values, and a value may hold quotes itself."""
    text = _IN_COPY.sub("", _PREFIX.sub("", str(problem))).strip()
    message = text.splitlines()[0].partition(_A_VALUE_FOLLOWS)[0] if text else "no answer"
    if number not in _NAMES_ARE_QUOTED:
        message = re.split(r"['\"(]", _QUOTED.sub("...", message))[0]
    return message.strip().rstrip(".:")


def value_refused(table: str, columns: Sequence[Column], problem: BaseException, number: int) -> ValueProblem:
    """Return the error for a value that the server cannot store unchanged."""
    text = str(problem)
    named = [column.name for column in columns if f"column '{column.name}'" in text]
    which = f"column {named[0]}" if named else "one of its columns"
    suffix = f" (error {number})" if number else ""
    return ValueProblem(
        f"{table}: {which} cannot store a value in the target: {_server_message(problem, 0)}{suffix}.",
        "The load was rolled back; the target keeps what it had.",
        "Give the target's column a type that takes these values, or read the column as text (`columns:`) into one.",
    )


def unreachable(problem: BaseException, connection: Connection) -> TidegateError:
    """Return the error for a login or network problem, with the driver's message and a remedy."""
    message = _PREFIX.sub("", str(problem)).strip().rstrip(".") or "no answer"
    if _TEMPORARY.search(message):
        happened = f"No connection to {connection.display}: {message}."
        return Transient(happened, "Nothing was read or written.", "Run again: the server says that this is temporary.")
    remedy = "Check host and port, and that the server is up and listens on TCP."
    if _NO_DRIVER.search(message):
        remedy = "Install what the driver needs (Debian, Ubuntu: apt-get install libltdl7 libkrb5-3 libgssapi-krb5-2)."
    elif _NO_DATABASE.search(message):
        remedy = "Check the name of the database, and that this user may use it."
    elif _LOGIN.search(message):
        remedy = "Check user and password, and that this user may use the database."
    elif _CERTIFICATE.search(message):
        remedy = (
            "Install the certificate authority of the server's certificate, or name the certificate's host with"
            " HostNameInCertificate. TrustServerCertificate=yes accepts any certificate, also that of an attacker."
        )
    return Unreachable(f"No connection to {connection.display}: {message}.", "Nothing was read or written.", remedy)
