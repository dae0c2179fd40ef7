"""Source and target as somebody else sees them: what the story changes and counts, it does here, without Tidegate."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
from psycopg import sql

from tidegate.demo.data import Connection, Day, add, create
from tidegate.demo.embedded import EmbeddedPostgres
from tidegate.demo.reference import change_reference, create_reference
from tidegate.errors import TidegateError

_QUIET_SECONDS = 30

_READER = "CREATE ROLE reader LOGIN PASSWORD {}"
_READS = "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"
_LOADER = "CREATE ROLE loader LOGIN PASSWORD {}"
_OWNS = "ALTER DATABASE uat OWNER TO loader"

_ROWS = """
SELECT cobid, count(*)
FROM daily_transactions
GROUP BY cobid
ORDER BY cobid
"""
_HASHES = """
SELECT cobid, count(*), sum(hashtextextended(trade::text, 0))
FROM daily_transactions AS trade
WHERE cobid = ANY(%s)
GROUP BY cobid
"""
_PRESENT = """
SELECT day
FROM unnest(%s::int[]) AS day
WHERE EXISTS (SELECT FROM daily_transactions WHERE cobid = day)
"""
_TWICE = """
SELECT count(*) - count(DISTINCT (cobid, trade_id))
FROM daily_transactions
"""
_DELETE = "DELETE FROM daily_transactions WHERE cobid = %s"
_DELETE_CURRENCY = "DELETE FROM currencies WHERE code = %s"
_OPEN_AGAIN = """
UPDATE customers
SET is_latest = true
WHERE (customer_id, last_modified) IN (
    SELECT DISTINCT ON (customer_id) customer_id, last_modified FROM customers WHERE NOT is_latest LIMIT %s
)
"""
_VERSIONS = "SELECT count(*) FROM customers"
_REFERENCE = """
SELECT 'customers', count(*), sum(hashtextextended(customer::text, 0)) FROM customers AS customer
UNION ALL
SELECT 'currencies', count(*), sum(hashtextextended(currency::text, 0)) FROM currencies AS currency
"""
_OTHERS = """
SELECT count(*)
FROM pg_stat_activity
WHERE datname IN ('prod', 'uat') AND usename IN ('reader', 'loader')
"""
_VERSION = "SELECT split_part(version(), ' ', 2)"


class Sides:
    """`prod` with a login that may only read, `uat` with one that owns it, and a superuser's eyes on both."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.variables = {"PROD_PASSWORD": secrets.token_urlsafe(18), "UAT_PASSWORD": secrets.token_urlsafe(18)}
        self.prod = _connect(server.create_database("prod"))
        self.uat = _connect(server.create_database("uat"))
        self._makers = [self.prod, _connect(server.url("prod"))]

    def fill(self, days: Sequence[Day]) -> None:
        """The tables in `prod`, trades on these days, and both logins."""
        create(self._makers, days)
        create_reference(self.prod)
        self._grant(_READER, "PROD_PASSWORD", _READS)
        self._grant(_LOADER, "UAT_PASSWORD", _OWNS)

    def _grant(self, role: str, variable: str, rights: str) -> None:
        self.prod.execute(sql.SQL(role).format(sql.Literal(self.variables[variable])))
        self.prod.execute(rights)

    def add(self, days: Sequence[Day]) -> None:
        """Further days arrive in `prod`."""
        add(self._makers, days)

    def change_reference(self, cobid: int) -> None:
        """Customers and currencies change in `prod` on this day."""
        change_reference(self.prod, cobid)

    def delete_in_target(self, cobid: int) -> int:
        """How many rows are gone now."""
        return self.uat.execute(_DELETE, [cobid]).rowcount

    def delete_currency_in_target(self, code: str) -> None:
        self.uat.execute(_DELETE_CURRENCY, [code])

    def corrupt_flags_in_target(self, count: int) -> None:
        """As many versions of customers say again that they hold."""
        self.uat.execute(_OPEN_AGAIN, [count])

    def versions(self) -> int:
        """How many versions of customers the source has."""
        return int(_one(self.prod, _VERSIONS))

    def unequal_reference(self) -> list[str]:
        """Which of customers and currencies differ, flags included, by PostgreSQL's own hash of the rows' text."""
        prod, uat = (set(side.execute(_REFERENCE).fetchall()) for side in (self.prod, self.uat))
        return sorted({table for table, *_ in prod ^ uat})

    @property
    def port(self) -> int:
        return self.prod.info.port

    @property
    def version(self) -> str:
        return str(_one(self.prod, _VERSION))

    def source_rows(self) -> dict[int, int]:
        """Rows by day."""
        return dict(self.prod.execute(_ROWS).fetchall())

    def target_rows(self) -> dict[int, int]:
        """Rows by day. Raises before the first run has made the table."""
        return dict(self.uat.execute(_ROWS).fetchall())

    def present(self, cobids: Sequence[int]) -> list[int]:
        """Which of these days the target holds."""
        return [row[0] for row in self.uat.execute(_PRESENT, [list(cobids)]).fetchall()]

    def rows_twice(self) -> int:
        """How many rows of the target repeat another row's key."""
        return int(_one(self.uat, _TWICE))

    def unequal(self, cobids: Sequence[int]) -> list[int]:
        """Days on which both sides differ, in their number of rows or in PostgreSQL's own hash of the rows' text."""
        with ThreadPoolExecutor() as pool:
            prod, uat = pool.map(lambda side: _hashes(side, cobids), (self.prod, self.uat))
        return [cobid for cobid in cobids if cobid not in prod or prod[cobid] != uat.get(cobid)]

    def wait_until_quiet(self) -> None:
        """Until the server has noticed that nobody is there any more, and has rolled back what was not committed."""
        deadline = time.monotonic() + _QUIET_SECONDS
        while _one(self.prod, _OTHERS):
            if time.monotonic() > deadline:
                raise TidegateError(f"Sessions of the killed run are still there after {_QUIET_SECONDS} s.")
            time.sleep(0.1)

    def close(self) -> None:
        for connection in (*self._makers, self.uat):
            connection.close()


def _connect(url: str) -> Connection:
    return psycopg.connect(url, autocommit=True)


def _one(side: Connection, question: str) -> Any:
    return side.execute(question).fetchall()[0][0]


def _hashes(side: Connection, cobids: Sequence[int]) -> dict[int, tuple[Any, ...]]:
    return {cobid: (count, total) for cobid, count, total in side.execute(_HASHES, [list(cobids)]).fetchall()}
