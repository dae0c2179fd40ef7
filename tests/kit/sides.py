"""Statements and queries of the stories on any database, by plain drivers without the code under test.

Trades have no key, and the first two rows of a day are equal, so that a lost or duplicated row is noticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from kit.mysql_witness import MysqlWitness
from kit.sqlserver_witness import SqlServerWitness
from kit.witness import Witness

Rows = Counter[tuple[object, ...]]

NOTES = (None, "", "naïve ✓ 山田", 'two\nlines\t"quoted", 100%', "\\.")
_OPENING = datetime(2024, 1, 1, 7)
_TICK = timedelta(seconds=1, microseconds=1)
_INSERT = "INSERT INTO trades (cob, id, amount, note, traded_at, load_id) VALUES (%s, %s, %s, %s, %s, %s)"
_SELECT = "SELECT {} FROM trades {}"
_COUNT = "SELECT cob, count(*) FROM trades {} GROUP BY cob ORDER BY cob"
_LEDGER = "SELECT value_text, generation, kind, row_total FROM {} WHERE table_name LIKE '%trades' ORDER BY generation"


@dataclass(frozen=True)
class _Words:
    """The statements of one database."""

    create: str
    columns: str
    ledger: str
    sessions: str
    refuse_nulls: str
    allow_nulls: str


_POSTGRESQL = _Words(
    create="""
        CREATE TABLE trades (
            cob integer, id bigint NOT NULL, amount numeric(38,18), note text, traded_at timestamp, load_id bigint
        );
        CREATE INDEX ON trades (cob)
    """,
    columns="""
        SELECT attname FROM pg_attribute
        WHERE attrelid = 'trades'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname
    """,
    ledger="tidegate.ledger",
    sessions="""
        SELECT application_name FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'tidegate %'
    """,
    refuse_nulls="ALTER TABLE trades ALTER COLUMN note SET NOT NULL",
    allow_nulls="ALTER TABLE trades ALTER COLUMN note DROP NOT NULL",
)
# MySQL does not list the programs of sessions. Every other session in a database of the tests counts as a run.
_MYSQL = _Words(
    create="""
        CREATE TABLE trades (
            cob int, id bigint NOT NULL, amount decimal(38,18), note text, traded_at datetime(6),
            load_id bigint, KEY (cob)
        )
    """,
    columns="""
        SELECT COLUMN_NAME FROM information_schema.COLUMNS
        WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'trades' ORDER BY COLUMN_NAME
    """,
    ledger="tidegate_ledger",
    sessions="""
        SELECT CONCAT('tidegate run ', ID) FROM information_schema.PROCESSLIST
        WHERE DB = DATABASE() AND ID <> CONNECTION_ID()
    """,
    refuse_nulls="ALTER TABLE trades MODIFY note text NOT NULL",
    allow_nulls="ALTER TABLE trades MODIFY note text NULL",
)


_SQLSERVER = _Words(
    create="""
        CREATE TABLE trades (
            cob int, id bigint NOT NULL, amount decimal(38,18), note nvarchar(max), traded_at datetime2(6),
            load_id bigint
        );
        CREATE INDEX ix_cob ON trades (cob)
    """,
    columns="""
        SELECT c.name FROM sys.columns AS c WHERE c.object_id = OBJECT_ID('trades') ORDER BY c.name
    """,
    ledger="tidegate.ledger",
    sessions="""
        SELECT CONCAT('tidegate run ', session_id) FROM sys.dm_exec_sessions
        WHERE database_id = DB_ID() AND session_id <> @@SPID
    """,
    refuse_nulls="ALTER TABLE trades ALTER COLUMN note nvarchar(max) NOT NULL",
    allow_nulls="ALTER TABLE trades ALTER COLUMN note nvarchar(max) NULL",
)


def kind_of(url: str) -> str:
    return url.partition(":")[0]


def _words(url: str) -> _Words:
    return {"mysql": _MYSQL, "sqlserver": _SQLSERVER}.get(kind_of(url), _POSTGRESQL)


def opened(url: str) -> Any:
    """Return an open witness for the database of this URL."""
    return {"mysql": MysqlWitness, "sqlserver": SqlServerWitness}.get(kind_of(url), Witness)(url)


def ask(url: str, statement: Any, *values: object) -> list[Any]:
    with opened(url) as witness:
        return list(witness.ask(statement, *values))


def do(url: str, statement: Any, *values: object) -> None:
    with opened(url) as witness:
        witness.do(statement, *values)


def create(url: str) -> None:
    do(url, _words(url).create)


def refuse_nulls(url: str) -> None:
    """Change the column `note` to NOT NULL."""
    do(url, _words(url).refuse_nulls)


def allow_nulls(url: str) -> None:
    do(url, _words(url).allow_nulls)


def fill(url: str, days: Sequence[int], first: int, last: int) -> None:
    """Insert trades with these numbers on each of these days. Trade 1 gets the number 2, so two rows are equal."""
    numbers = [max(number, 2) for number in range(first, last + 1)]
    rows = [_trade(day, number) for day in days for number in numbers]
    if kind_of(url) == "sqlserver":  # its driver would cut the microseconds
        rows = [tuple(str(cell) if isinstance(cell, datetime) else cell for cell in row) for row in rows]
    with opened(url) as witness:
        witness.do_many(_INSERT, rows)


def _trade(day: int, number: int) -> tuple[object, ...]:
    amount = number * Decimal("1.000000000000000001") + day
    return day, number, amount, NOTES[number % len(NOTES)], _OPENING + number * _TICK, 1


def rows_of(url: str, days: Sequence[int] = ()) -> Rows:
    """Return all rows, or the rows of these days, with columns sorted by name."""
    names = ", ".join(str(name) for (name,) in ask(url, _words(url).columns))
    return Counter(ask(url, _SELECT.format(names, _of(days))))


def counts_of(url: str, days: Sequence[int] = ()) -> dict[int, int]:
    return dict(ask(url, _COUNT.format(_of(days))))


def _of(days: Sequence[int]) -> str:
    return f"WHERE cob IN ({', '.join(map(str, days))})" if days else ""


def ledger_of(url: str) -> dict[int, tuple[int, str, int]]:
    """Return the newest ledger entry of each value: generation, kind and rows."""
    found = ask(url, _LEDGER.format(_words(url).ledger))
    return {int(value): (generation, kind, rows) for value, generation, kind, rows in found}


def forget_loads(url: str) -> None:
    """Delete all ledger entries."""
    do(url, f"DELETE FROM {_words(url).ledger}")  # noqa: S608 - a name of ours


def ledger_name(url: str) -> str:
    return _words(url).ledger


def sessions_of(url: str) -> list[str]:
    """Return the names of Tidegate's sessions in this database."""
    return [name for (name,) in ask(url, _words(url).sessions)]
