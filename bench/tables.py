"""The data: made inside of the servers, the same on each of them, from nothing but a row's number `i`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

DAYS = 10
FIRST_DAY = 20240801
_WIDE = 40


@dataclass(frozen=True)
class Column:
    """Its type, and its value in terms of `i` and `{rows}`, in the words of each server."""

    name: str
    postgresql: tuple[str, str]
    mysql: tuple[str, str]
    sqlserver: tuple[str, str] = ("", "")


_TRADES = (
    Column(
        "cob",
        ("integer NOT NULL", f"{FIRST_DAY} + ((i - 1) * {DAYS} / {{rows}})"),
        ("integer NOT NULL", f"{FIRST_DAY} + ((i - 1) * {DAYS} DIV {{rows}})"),
        ("int NOT NULL", f"{FIRST_DAY} + ((i - 1) * {DAYS} / {{rows}})"),
    ),
    Column("id", ("bigint NOT NULL", "i"), ("bigint NOT NULL", "i"), ("bigint NOT NULL", "i")),
    Column(
        "account",
        ("varchar(20)", "'ACC' || lpad((i % 50000)::text, 8, '0')"),
        ("varchar(20)", "concat('ACC', lpad(i % 50000, 8, '0'))"),
        ("varchar(20)", "'ACC' + RIGHT('0000000' + CONVERT(varchar(20), i % 50000), 8)"),
    ),
    Column(
        "currency",
        ("varchar(10)", "(ARRAY['EUR','USD','GBP','JPY','CHF'])[1 + i % 5]"),
        ("varchar(10)", "elt(1 + i % 5, 'EUR', 'USD', 'GBP', 'JPY', 'CHF')"),
        ("varchar(10)", "CHOOSE(1 + i % 5, 'EUR', 'USD', 'GBP', 'JPY', 'CHF')"),
    ),
    Column(
        "amount",
        ("numeric(38,18)", "(i * 7919 % 1000003)::numeric * 1234.567000000000000001"),
        ("decimal(38,18)", "cast(i * 7919 % 1000003 AS decimal(20)) * 1234.567000000000000001"),
        ("decimal(38,18)", "CONVERT(decimal(7), i * 7919 % 1000003) * 1234.567000000000000001"),
    ),
    Column(
        "rate",
        ("numeric(18,6)", "(i % 999983)::numeric / 1000000"),
        ("decimal(18,6)", "cast(i % 999983 AS decimal(18,6)) / 1000000"),
        ("decimal(18,6)", "CONVERT(decimal(7), i % 999983) * 0.000001"),
    ),
    Column(
        "desk",
        ("integer", "CASE WHEN i % 11 = 0 THEN NULL ELSE i % 100 END"),
        ("integer", "CASE WHEN i % 11 = 0 THEN NULL ELSE i % 100 END"),
        ("int", "CASE WHEN i % 11 = 0 THEN NULL ELSE i % 100 END"),
    ),
    Column(
        "is_open",
        ("boolean", "i % 3 = 0"),
        ("tinyint(1)", "i % 3 = 0"),
        ("bit", "CASE WHEN i % 3 = 0 THEN 1 ELSE 0 END"),
    ),
    Column(
        "traded_at",
        ("timestamp(6)", "timestamp '2024-08-01' + i * interval '1.000001 seconds'"),
        ("datetime(6)", "timestampadd(MICROSECOND, i * 1000001, timestamp'2024-08-01 00:00:00')"),
        (
            "datetime2(6)",
            "DATEADD(MICROSECOND, i % 1000000,"
            " DATEADD(SECOND, i + i / 1000000, CONVERT(datetime2(6), '2024-08-01', 121)))",
        ),
    ),
    Column(
        "note",
        ("text", "md5(i::text) || to_char(i % 100000000, 'FM00000000')"),
        ("text", "concat(md5(i), lpad(i % 100000000, 8, '0'))"),
        (
            "varchar(100)",
            "RIGHT(REPLICATE('0', 20) + CONVERT(varchar(20), i * 2654435761 % 999999999989), 20)"
            " + RIGHT(REPLICATE('0', 20) + CONVERT(varchar(20), i * 2246822519 % 999999999961), 20)",
        ),
    ),
)
_MORE = tuple(
    Column(f"measure_{number}", ("numeric(18,6)", value), ("decimal(18,6)", value))
    for number in range(_WIDE)
    for value in [f"(i * {number * 2 + 3} % 999983) / 1000.0"]
)
_DOCUMENT = Column(
    "document",
    ("text", "repeat(md5(i::text), 125)"),
    ("mediumtext", "repeat(md5(i), 125)"),
)
_VERSIONS = (
    Column("id", ("bigint NOT NULL", "i"), ("bigint NOT NULL", "i")),
    Column(
        "valid_from",
        ("timestamp(6) NOT NULL", "timestamp '2024-01-01' + i * interval '1 second'"),
        ("datetime(6) NOT NULL", "timestampadd(SECOND, i, timestamp'2024-01-01 00:00:00')"),
    ),
    Column(
        "changed_at",
        ("timestamp(6) NOT NULL", "timestamp '2024-01-01' + i * interval '1 second'"),
        ("datetime(6) NOT NULL", "timestampadd(SECOND, i, timestamp'2024-01-01 00:00:00')"),
    ),
    Column("is_latest", ("boolean NOT NULL", "true"), ("tinyint(1) NOT NULL", "1")),
    *(column for column in _TRADES if column.name in ("account", "amount", "note")),
)


@dataclass(frozen=True)
class TableSchema:
    """What the tables of one sort look like."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ("id",)
    index: str = "cob"
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(column.name for column in self.columns))

    def create(self, database: str, table: str) -> list[str]:
        columns = ", ".join(f"{column.name} {getattr(column, database)[0]}" for column in self.columns)
        index = f"CREATE INDEX by_{self.index}_{table} ON {table} ({self.index})"
        return [f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({', '.join(self.key)}))", index]

    def fill(self, database: str, table: str, rows: int) -> str:
        return f"INSERT INTO {table} {self.select(database, 1, rows)}"

    def select(self, database: str, first: int, last: int, **instead: str) -> str:
        """Rows by their numbers, with other expressions in place of some."""
        values = [instead.get(column.name) or getattr(column, database)[1].format(rows=last) for column in self.columns]
        numbers = {
            "postgresql": f"generate_series({first}::bigint, {last}) AS numbers(i)",
            "mysql": f"(SELECT seq AS i FROM seq_{first}_to_{last}) AS numbers",
            "sqlserver": f"({_numbers(first, last)}) AS numbers",
        }
        return f"SELECT {', '.join(values)} FROM {numbers[database]}"


def _numbers(first: int, last: int) -> str:
    """T-SQL of every version: digit by digit."""
    places = range(len(str(last - first)))
    digits = " CROSS JOIN ".join(f"(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS d{at} (n)" for at in places)
    number = " + ".join(f"d{at}.n * CONVERT(bigint, {10**at})" for at in places)
    return f"SELECT i FROM (SELECT {first} + {number} AS i FROM {digits}) AS every (i) WHERE i <= {last}"


TRADES = TableSchema("trades", _TRADES)
WIDE = TableSchema("wide", _TRADES + _MORE)
DOCUMENTS = TableSchema("documents", (*_TRADES, _DOCUMENT))
VERSIONS = TableSchema("versions", _VERSIONS, key=("id", "valid_from"), index="changed_at")


# What happens from one day to the next


def next_day(database: str, table: str, number: int, rows: int, first: int) -> Sequence[str]:
    """Rows of a partition value that was not there, with the numbers after `first`."""
    day = str(FIRST_DAY + 100 + number)
    return [f"INSERT INTO {table} {TRADES.select(database, first, first + rows - 1, cob=day)}"]


def next_versions(database: str, table: str, number: int, every: int) -> Sequence[str]:
    """One of so many entities gets a version in the course of a day, and the one before it ends."""
    day = f"timestamp'2024-08-01 00:00:00' + interval '{number + 1}' day"
    at = {
        "postgresql": f"{day} + id % 80000 * interval '1' second",
        "mysql": f"timestampadd(SECOND, id % 80000, {day})",
    }[database]
    chosen = f"is_latest AND id % {every} = {number % every}"
    kept = ", ".join(name for name in VERSIONS.names if name not in ("valid_from", "changed_at", "is_latest"))
    taken = kept.replace("amount", "amount + 1")
    names = "id, valid_from, changed_at, is_latest, " + kept.removeprefix("id, ")
    new = f"SELECT id, {at}, {at}, true, {taken.removeprefix('id, ')} FROM {table} WHERE {chosen}"
    older = f"valid_from < {day} AND is_latest AND id % {every} = {number % every}"
    return [
        f"INSERT INTO {table} ({names}) {new}",
        f"UPDATE {table} SET is_latest = false, changed_at = {at} WHERE {older}",
    ]


def next_values(database: str, table: str, number: int, every: int) -> Sequence[str]:
    """One of so many rows changes."""
    return [f"UPDATE {table} SET amount = amount + 1 WHERE id % {every} = {number % every}"]
