"""The data of the demo: the trades of an invented desk, made inside the server, the same rows every time.

Facts that shape this file
 * Every column of a row follows from hashes of its day and its number, so no order of execution changes a row.
 * Prices and amounts use all 18 decimals, times all 6; texts hold NULL, empty strings, line ends and other alphabets:
   what copies get wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeAlias

import psycopg

Connection: TypeAlias = psycopg.Connection[Any]

TABLE = "daily_transactions"
DAYS_AT_FIRST = 14
DAYS_LATE = 5

_FIRST_DAY = date(2026, 1, 5)
_FIRST_TRADE = 40_000_001
_UNEVEN = (100, 108, 94, 87, 112, 103, 97, 91, 106, 115, 99, 89, 104, 95)  # percent of an average day

_CREATE = """
CREATE TABLE daily_transactions (
    cobid         integer NOT NULL,
    trade_id      bigint NOT NULL,
    desk          varchar(20) NOT NULL,
    book          varchar(20) NOT NULL,
    trader        text NOT NULL,
    instrument    varchar(12) NOT NULL,
    side          varchar(4) NOT NULL,
    quantity      bigint NOT NULL,
    price         decimal(38,18) NOT NULL,
    amount        decimal(38,18) NOT NULL,
    currency      char(3) NOT NULL,
    counterparty  text NOT NULL,
    traded_at     timestamp(6) NOT NULL,
    load_id       bigint NOT NULL,
    notes         text
)
"""
_KEY = "ALTER TABLE daily_transactions ADD PRIMARY KEY (cobid, trade_id)"
_SETTLE = "VACUUM (ANALYZE) daily_transactions"

# `a` and `b` are 62 random bits each; a column takes the bits that no other column of its kind uses.
_FILL = """
INSERT INTO daily_transactions
SELECT
    cobid,
    first_trade + number - 1,
    desks[desk],
    upper(left(desks[desk], 3)) || '-' || (ARRAY['FLOW', 'PROP', 'HEDGE', 'EXOTIC'])[1 + mod(a >> 4, 4)],
    traders[1 + mod(a >> 8, 12)],
    countries[1 + mod(paper, 8)] || lpad(mod(paper * 2305843, 1000000000)::text, 9, '0') || mod(paper * 7, 10)::text,
    CASE mod(a >> 12, 2) WHEN 0 THEN 'BUY' ELSE 'SELL' END,
    quantity,
    price,
    quantity * price,
    currencies[1 + mod(paper, 8)],
    counterparties[1 + mod(a >> 16, 10)],
    to_date(cobid::text, 'YYYYMMDD') + time '07:00' + mod(b, 36000000000) * interval '1 microsecond',
    cobid::bigint * 10 + 1,
    notes[1 + mod(a >> 32, 64)]
FROM unnest(%(cobids)s::int[], %(rows)s::int[], %(first_trades)s::bigint[]) AS day (cobid, row_total, first_trade)
CROSS JOIN LATERAL generate_series(1, row_total) AS number
CROSS JOIN LATERAL (
    SELECT hashint8extended(number, cobid) >> 2 & x'3fffffffffffffff'::bigint,
           hashint8extended(number, -cobid) >> 2 & x'3fffffffffffffff'::bigint
) AS draw (a, b)
CROSS JOIN LATERAL (
    SELECT 1 + mod(a, 6), 1 + mod(a >> 20, 480), 100 * (1 + mod(a >> 40, 250))
) AS pick (desk, paper, quantity)
CROSS JOIN LATERAL (
    SELECT 5 + mod(paper * 37, 290) + mod(b, 1000000000000000000) * 0.000000000000000001
) AS market (price)
CROSS JOIN (
    SELECT %(desks)s::text[], %(traders)s::text[], %(countries)s::text[], %(currencies)s::text[],
           %(counterparties)s::text[], %(notes)s::text[]
) AS names (desks, traders, countries, currencies, counterparties, notes)
"""

_NAMES: dict[str, list[Any]] = {
    "desks": ["Rates", "Credit", "FX", "Equities", "Commodities", "Treasury"],
    "traders": [
        "Amara Diallo", "Søren Lindqvist", "Zoë Müller", "Seán O'Brien", "Łukasz Wójcik", "山田 花子",
        "Ines Carvalho", "Γιώργος Παππάς", "Dana Novák", "Priya Raman", "Tomás Ibáñez", "Ольга Белова",
    ],
    "countries": ["DE", "FR", "GB", "US", "JP", "CH", "SE", "PL"],
    "currencies": ["EUR", "EUR", "GBP", "USD", "JPY", "CHF", "SEK", "PLN"],
    "counterparties": [
        "Alder & Finch", "Banco del Río Claro", "Caisse du Littoral", "Harbour Mutual", "Kestrel Capital",
        "Landbank Nordheide", "Northgate Clearing", "Ōmi Trust", "Saint-Émile Frères", "Västra Handel",
    ],
    # Most trades have no note; one in eight has an empty one, which is not the same.
    "notes": [None] * 48 + [""] * 8 + [
        "late booking, confirmed by phone", "naïve hedge – see desk memo", "settles T+1 ✓", "price in ¥, checked twice",
        "two lines:\nthe second one", "tab\there", 'said "done" at 16:59', "back\\slash, comma, 100%",
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Day:
    """One business day to make: its `cobid`, how many trades, and the number of the first one."""

    cobid: int
    rows: int
    first_trade: int


@dataclass(frozen=True)
class Calendar:
    """The days of the story in their order, which is the order in which they arrive."""

    at_first: tuple[Day, ...]
    new: Day
    late: tuple[Day, ...]

    @classmethod
    def of(cls, rows: int) -> Calendar:
        """`rows` are those that are there at first, about; the days that follow come on top of them."""
        days = list(_days(rows // DAYS_AT_FIRST))
        return cls(tuple(days[:DAYS_AT_FIRST]), days[DAYS_AT_FIRST], tuple(days[DAYS_AT_FIRST + 1 :]))


def _days(average: int) -> Iterator[Day]:
    first = _FIRST_TRADE
    for number, cobid in enumerate(business_days(_FIRST_DAY, DAYS_AT_FIRST + 1 + DAYS_LATE)):
        rows = average * _UNEVEN[number % len(_UNEVEN)] // 100
        yield Day(cobid, rows, first)
        first += rows


def business_days(first: date, count: int) -> Iterator[int]:
    """As many weekdays from `first` on, that day included, as YYYYMMDD. No holidays."""
    day = first
    for _ in range(count):
        while day.weekday() >= 5:
            day += timedelta(days=1)
        yield int(f"{day:%Y%m%d}")
        day += timedelta(days=1)


def create(connections: Sequence[Connection], days: Sequence[Day]) -> None:
    """The table with its first days. The key comes last: it is quicker to build than to keep."""
    connections[0].execute(_CREATE)
    add(connections, days)
    connections[0].execute(_KEY)
    connections[0].execute(_SETTLE)


def add(connections: Sequence[Connection], days: Sequence[Day]) -> None:
    """Further days, shared among connections to one database, which work at the same time."""
    shares = [days[number :: len(connections)] for number in range(len(connections))]
    with ThreadPoolExecutor(len(connections)) as pool:
        list(pool.map(_insert, connections, shares))


def _insert(connection: Connection, days: Sequence[Day]) -> None:
    arrays = {
        "cobids": [day.cobid for day in days],
        "rows": [day.rows for day in days],
        "first_trades": [day.first_trade for day in days],
    }
    connection.execute(_FILL, {**_NAMES, **arrays})
