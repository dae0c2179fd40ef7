"""Source and target without Tidegate: what the story changes in them, and what it counts to check Tidegate."""

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

_SECONDS_TO_END = 30

_CREATE_READER = "CREATE ROLE reader LOGIN PASSWORD {}"
_GRANT_READS = "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"
_CREATE_LOADER = "CREATE ROLE loader LOGIN PASSWORD {}"
_GRANT_OWNERSHIP = "ALTER DATABASE uat OWNER TO loader"

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
_DUPLICATES = """
SELECT count(*) - count(DISTINCT (cobid, trade_id))
FROM daily_transactions
"""
_DELETE = "DELETE FROM daily_transactions WHERE cobid = %s"
_DELETE_CURRENCY = "DELETE FROM currencies WHERE code = %s"
_SET_FLAGS = """
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
_OPEN_SESSIONS = """
SELECT count(*)
FROM pg_stat_activity
WHERE datname IN ('prod', 'uat') AND usename IN ('reader', 'loader')
"""
_VERSION = "SELECT split_part(version(), ' ', 2)"


class Sides:
    """`prod` with a login that may only read, `uat` with a login that owns it, and a superuser who changes both."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.variables = {"PROD_PASSWORD": secrets.token_urlsafe(18), "UAT_PASSWORD": secrets.token_urlsafe(18)}
        self.prod = _connect(server.create_database("prod"))
        self.uat = _connect(server.create_database("uat"))
        self._writers = [self.prod, _connect(server.url("prod"))]

    def fill(self, days: Sequence[Day]) -> None:
        """Create the tables in `prod`, with trades on these days, and both logins."""
        create(self._writers, days)
        create_reference(self.prod)
        self._grant(_CREATE_READER, "PROD_PASSWORD", _GRANT_READS)
        self._grant(_CREATE_LOADER, "UAT_PASSWORD", _GRANT_OWNERSHIP)

    def _grant(self, role: str, variable: str, rights: str) -> None:
        self.prod.execute(sql.SQL(role).format(sql.Literal(self.variables[variable])))
        self.prod.execute(rights)

    def add(self, days: Sequence[Day]) -> None:
        """Insert further days into `prod`."""
        add(self._writers, days)

    def change_reference(self, cobid: int) -> None:
        """Change customers and currencies in `prod` on this day."""
        change_reference(self.prod, cobid)

    def delete_in_target(self, cobid: int) -> int:
        """Delete a day. Return how many rows were deleted."""
        return self.uat.execute(_DELETE, [cobid]).rowcount

    def delete_currency_in_target(self, code: str) -> None:
        self.uat.execute(_DELETE_CURRENCY, [code])

    def corrupt_flags_in_target(self, count: int) -> None:
        """Set the flag of so many old versions of customers, as if they were current."""
        self.uat.execute(_SET_FLAGS, [count])

    def versions(self) -> int:
        """Return how many versions of customers the source has."""
        return int(_single_value(self.prod, _VERSIONS))

    def unequal_reference(self) -> list[str]:
        """Return which of customers and currencies differ, flags included, by PostgreSQL's own hash of the rows."""
        prod, uat = (set(side.execute(_REFERENCE).fetchall()) for side in (self.prod, self.uat))
        return sorted({table for table, *_ in prod ^ uat})

    @property
    def port(self) -> int:
        return self.prod.info.port

    @property
    def version(self) -> str:
        """Return the version of PostgreSQL, as in `18.1`."""
        return str(_single_value(self.prod, _VERSION))

    def source_rows(self) -> dict[int, int]:
        """Return the number of rows by day."""
        return dict(self.prod.execute(_ROWS).fetchall())

    def target_rows(self) -> dict[int, int]:
        """Return the number of rows by day. Raises before the first run, which creates the table."""
        return dict(self.uat.execute(_ROWS).fetchall())

    def present(self, cobids: Sequence[int]) -> list[int]:
        """Return which of these days the target has."""
        return [row[0] for row in self.uat.execute(_PRESENT, [list(cobids)]).fetchall()]

    def duplicates(self) -> int:
        """Return how many rows of the target repeat the key of another row."""
        return int(_single_value(self.uat, _DUPLICATES))

    def unequal(self, cobids: Sequence[int]) -> list[int]:
        """Return the days on which both sides differ, by count or by PostgreSQL's own hash of the rows."""
        with ThreadPoolExecutor() as pool:
            prod, uat = pool.map(lambda side: _hashes(side, cobids), (self.prod, self.uat))
        return [cobid for cobid in cobids if cobid not in prod or prod[cobid] != uat.get(cobid)]

    def wait_for_sessions_to_end(self) -> None:
        """Wait until the server has ended the sessions of the killed run, and has rolled back their transactions."""
        deadline = time.monotonic() + _SECONDS_TO_END
        while _single_value(self.prod, _OPEN_SESSIONS):
            if time.monotonic() > deadline:
                raise TidegateError(f"Sessions of the killed run are still open after {_SECONDS_TO_END} s.")
            time.sleep(0.1)

    def close(self) -> None:
        for connection in (*self._writers, self.uat):
            connection.close()


def _connect(url: str) -> Connection:
    return psycopg.connect(url, autocommit=True)


def _single_value(side: Connection, query: str) -> Any:
    return side.execute(query).fetchall()[0][0]


def _hashes(side: Connection, cobids: Sequence[int]) -> dict[int, tuple[Any, ...]]:
    return {cobid: (count, total) for cobid, count, total in side.execute(_HASHES, [list(cobids)]).fetchall()}
