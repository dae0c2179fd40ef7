"""Errors of SQL Server, sorted into what may be repeated and what is final.

Facts that shape this file
 * The driver tells an error's text and sort, not its number: the session is asked for that (@@ERROR) while it lives.
 * The bulk copy has a connection of its own, which cannot be asked: its text has the number, where it came from the
   server.
 * A compatible server has numbers of its own, beyond all of SQL Server's, where it does not know SQL Server's.
 * With XACT_ABORT every error ends the transaction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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

_NUMBERS_END = 1 << 24
LOST = -1
"""Instead of a number: the connection is gone, and with it the answer."""
_LOCKS = (
    *(1204, 1205, 1222, 3935, 3960, 3961, 10922, 13535),
    *(3947, 3948, 3958, 3966, 3967),  # a replica that changed its role, or row versions that it no longer has
    *(41301, 41302, 41305, 41325, 41839),
)
_AWAY = (
    *(615, 921, 926, 4060, 4221, 10928, 10929, 10936, 40020, 40143, 40166, 40197, 40501, 40540, 40613, 42108, 42109),
    *(49918, 49919, 49920, 4891, 6005),
    *(596, 976, 983, 988),  # the session was killed; a replica that is neither primary nor readable just now
)
_MISSING = (207, 208, 2812, 3701, 4902)
_DENIED = (229, 230, 262, 297, 300, 916, 1088, 2759, 2760, 15247, 15151)
_NO_ROOM_ON_DISK = (701, 1101, 1105, 8645, 8651, 9002)
_READ_ONLY_DATABASE, _READ_ONLY_FILEGROUP = 3906, 652
_NO_SNAPSHOT_ELSEWHERE = (3952, 3996)
_UNKNOWN_COLLATION, _UNKNOWN_TYPE, _ROW_TOO_LONG, _NO_LOCKS_IN_MEMORY = 448, 2715, 511, 10794
_DUPLICATES, _RULES = (2601, 2627), (515, 547)
NO_ROOM_IN_COLUMN = (
    *(220, 232, 241, 242, 244, 245, 248, 295, 2628, 6355, 6522),
    *(8114, 8115, 8152, 8169, 9400, 9402, 13609),
)
_NAMES_ARE_QUOTED = (*_MISSING, *_DENIED, *_DUPLICATES, *_RULES, _UNKNOWN_COLLATION, _UNKNOWN_TYPE)
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
_COMES_BACK = re.compile(  # a database that wakes up or moves, a server that starts or has too much to do
    r"is not currently available|currently (too )?busy|not enough resources|too many (create or update )?operations"
    r"|not accessible for queries|being recovered|not been recovered yet|resource limit|limit for the .*been reached"
    r"|error processing your request|in script upgrade mode|shutdown is in progress|login to read-secondary failed"
    r"|not in the primary or secondary role|may be offline|wait and try again|retry the (connect|request|transact)",
    re.IGNORECASE,
)
_NO_DATABASE = re.compile(r"cannot open database|database .* does not exist", re.IGNORECASE)  # also ends "login failed"
_IN_COPY = re.compile(r"Sql Error: (\d+): Class \d+: State \d+: ")
_OUR_LIMIT = re.compile(r"timeout expired|bulk copy operation timed out after", re.IGNORECASE)
_PREFIX = re.compile(r"^(Driver Error: .*?; DDBC Error: )?(\[[^\]]*\])*\s*", re.DOTALL)


def is_lost(problem: BaseException) -> bool:
    """Whether the connection is gone, and with it the answer."""
    return _LOST.search(str(problem)) is not None


def ours(problem: BaseException, number: int, connection: Connection) -> DatabaseError:
    """One of our errors. Row values, which the server's message may quote, are left out."""
    took_too_long = _OUR_LIMIT.search(str(problem)) is not None
    by_text = not number and not took_too_long
    is_away = number == LOST or (by_text and (is_lost(problem) or _COMES_BACK.search(str(problem)) is not None))
    number = number if 0 < number < _NUMBERS_END else 0
    number = number or next((known for pattern, known in _TEXTS if pattern.search(str(problem))), 0)
    told = f"{_said(problem, number)}{f' (error {number})' if number else ''}"
    happened = f"{connection.display}: {told}."
    if number in (*_LOCKS, *_AWAY) or is_away:
        return Transient(happened, "The transaction was rolled back.", "Run again: it completes what is missing.")
    if number in _MISSING:
        remedy = "Correct the name, or grant the login access to it."
        return MissingObject(happened, "Nothing was changed by this statement.", remedy)
    if number in _DENIED:
        remedy = "Grant the login this right (`tidegate grants` prints the script), or use another login."
        return DatabaseError(happened, "Nothing was changed by this statement.", remedy)
    if took_too_long:
        remedy = "Raise `query_timeout`, or add an index on the partition column."
        return DatabaseError(happened, "Nothing was changed by this statement.", remedy)
    if number in _DUPLICATES:
        return DuplicateKey(happened, "The transaction was rolled back.", REMEDY_FOR_A_KEY)
    return DatabaseError(happened, "The transaction was rolled back.", _remedy(number))


def of_bulk_copy(problem: BaseException, connection: Connection) -> DatabaseError:
    told = _IN_COPY.search(str(problem))
    number = int(told[1]) if told else 0
    return ours(problem, number if number < _NUMBERS_END else 0, connection)


def _remedy(number: int) -> str:
    if number in _RULES:
        return REMEDY_FOR_A_RULE
    if number in _NO_ROOM_ON_DISK:
        return "Make room on the server (data, log or memory, as it says), then run again."
    if number == _READ_ONLY_FILEGROUP:
        return "Make the filegroup writable, or leave what lies in it out of the table's scope."
    if number == _READ_ONLY_DATABASE:
        return "Name a database that takes writes (the primary of a group, not its readable copy), or make it writable."
    if number in _NO_SNAPSHOT_ELSEWHERE:
        return (
            "What is read lies in another database (by a view or a synonym), which has to allow snapshots, too: ALTER"
            " DATABASE ... SET ALLOW_SNAPSHOT_ISOLATION ON; on a linked server there are none: name that as the source."
        )
    if number in (_UNKNOWN_COLLATION, _UNKNOWN_TYPE):
        return "The target is older than the source: create the table there by hand, with a type that it knows."
    if number == _ROW_TOO_LONG:
        return "A row has 8060 bytes at most, also in the stage, where texts are wider: load the columns as two tables."
    if number == _NO_LOCKS_IN_MEMORY:
        return "Load into a table on disk: in memory there are no locks, which loads of changed rows take."
    return REMEDY_FOR_ALL_ELSE


def _said(problem: BaseException, number: int) -> str:
    """What is quoted or stands in brackets may be a value, and a value may hold quotes: of what stands between the
    first and the last of them nothing is repeated."""
    text = _IN_COPY.sub("", _PREFIX.sub("", str(problem))).strip()
    said = text.splitlines()[0].partition(_A_VALUE_FOLLOWS)[0] if text else "no answer"
    if number not in _NAMES_ARE_QUOTED:
        said = re.split(r"['\"(]", _QUOTED.sub("...", said))[0]
    return said.strip().rstrip(".:")


def not_taken(table: str, columns: Sequence[Column], problem: BaseException, number: int) -> ValueProblem:
    """A value that the server would not store as it is."""
    text = str(problem)
    named = [column.name for column in columns if f"column '{column.name}'" in text]
    which = f"column {named[0]}" if named else "one of its columns"
    told = f" (error {number})" if number else ""
    return ValueProblem(
        f"{table}: {which} has no room in the target for a value that came: {_said(problem, 0)}{told}.",
        "The load was rolled back; the target keeps what it had.",
        "Give the target's column a type that takes these values, or read the column as text (`columns:`) into one.",
    )


def unreachable(problem: BaseException, connection: Connection) -> TidegateError:
    """A login or network problem, in the driver's own words and with what to look at."""
    said = _PREFIX.sub("", str(problem)).strip().rstrip(".") or "no answer"
    if _COMES_BACK.search(said):
        happened = f"No connection to {connection.display}: {said}."
        return Transient(happened, "Nothing was read or written.", "Run again: the server says that it will be back.")
    remedy = "Check host and port, and that the server is up and listens on TCP."
    if _NO_DATABASE.search(said):
        remedy = "Check the name of the database, and that this user may use it."
    elif _LOGIN.search(said):
        remedy = "Check user and password, and that this user may use the database."
    elif _CERTIFICATE.search(said):
        remedy = (
            "Install the authority that signed the server's certificate, or name the certificate's host with"
            " HostNameInCertificate; TrustServerCertificate=yes accepts any certificate, and with it anybody between."
        )
    return Unreachable(f"No connection to {connection.display}: {said}.", "Nothing was read or written.", remedy)
