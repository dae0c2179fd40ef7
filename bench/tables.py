"""The data: made inside of the servers, the same on each of them, from nothing but a row's number."""

from __future__ import annotations

from dataclasses import dataclass

DAYS = 10
FIRST_DAY = 20240801
COLUMNS = ("cob", "id", "account", "currency", "amount", "rate", "desk", "is_open", "traded_at", "note")


@dataclass(frozen=True)
class Words:
    """How one database says it: types, and expressions over the number `i`."""

    types: dict[str, str]
    values: dict[str, str]
    numbers: str
    """What yields `i` from 1 to {rows}."""


POSTGRESQL = Words(
    types={
        "cob": "integer NOT NULL",
        "id": "bigint NOT NULL",
        "account": "varchar(20)",
        "currency": "varchar(10)",
        "amount": "numeric(38,18)",
        "rate": "numeric(18,6)",
        "desk": "integer",
        "is_open": "boolean",
        "traded_at": "timestamp(6)",
        "note": "text",
    },
    values={
        "cob": f"{FIRST_DAY} + ((i - 1) * {DAYS} / {{rows}})",
        "id": "i",
        "account": "'ACC' || lpad((i % 50000)::text, 8, '0')",
        "currency": "(ARRAY['EUR','USD','GBP','JPY','CHF'])[1 + i % 5]",
        "amount": "(i * 7919 % 1000003)::numeric * 1234567.000000000000000001 / 1000",
        "rate": "(i % 999983)::numeric / 1000000",
        "desk": "CASE WHEN i % 11 = 0 THEN NULL ELSE i % 100 END",
        "is_open": "i % 3 = 0",
        "traded_at": "timestamp '2024-08-01' + i * interval '1.000001 seconds'",
        "note": "md5(i::text) || to_char(i % 100000000, 'FM00000000')",
    },
    numbers="FROM generate_series(1::bigint, {rows}) AS numbers(i)",
)

MYSQL = Words(
    types={
        **POSTGRESQL.types,
        "amount": "decimal(38,18)",
        "rate": "decimal(18,6)",
        "is_open": "tinyint(1)",
        "traded_at": "datetime(6)",
        "note": "text",
    },
    values={
        **POSTGRESQL.values,
        "cob": f"{FIRST_DAY} + ((i - 1) * {DAYS} DIV {{rows}})",
        "account": "concat('ACC', lpad(i % 50000, 8, '0'))",
        "currency": "elt(1 + i % 5, 'EUR', 'USD', 'GBP', 'JPY', 'CHF')",
        "amount": "cast(i * 7919 % 1000003 AS decimal(20)) * 1234567.000000000000000001 / 1000",
        "rate": "cast(i % 999983 AS decimal(18,6)) / 1000000",
        "traded_at": "timestampadd(MICROSECOND, i * 1000001, timestamp'2024-08-01 00:00:00')",
        "note": "concat(md5(i), lpad(i % 100000000, 8, '0'))",
    },
    numbers="FROM (SELECT seq AS i FROM seq_1_to_{rows}) AS numbers",
)

WORDS = {"postgresql": POSTGRESQL, "mysql": MYSQL}


def create(kind: str, name: str) -> str:
    columns = ", ".join(f"{column} {type_}" for column, type_ in WORDS[kind].types.items())
    return f"CREATE TABLE {name} ({columns}, PRIMARY KEY (id))"


def fill(kind: str, name: str, rows: int) -> str:
    words = WORDS[kind]
    values = ", ".join(words.values[column].format(rows=rows) for column in COLUMNS)
    return f"INSERT INTO {name} SELECT {values} {words.numbers.format(rows=rows)}"
