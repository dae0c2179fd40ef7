"""Partition switching into layouts of every sort: days and months, ranges and lists, defaults, dates, times, nulls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kit.copied import Copied, Copies

COLUMNS = "id integer NOT NULL, amount decimal(38,18), note varchar(50)"
ALL = "SELECT d, id, amount, note FROM facts WHERE d IS NOT NULL"
NUMBERS = ("20240130", "20240131", "20240201", "20240202", "20240203")
DATES = ("2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02", "2024-02-03")


@dataclass(frozen=True)
class Layout:
    """A partitioned target: the database, the type of the column, and its DDL; `{}` is the table with its columns."""

    database: str
    type: str
    ddl: tuple[str, ...]

    @property
    def days(self) -> tuple[str, ...]:
        return NUMBERS if self.type == "integer" else DATES


def parts(*bounds: str) -> tuple[str, ...]:
    return tuple(f"CREATE TABLE facts_{number} PARTITION OF facts {bound}" for number, bound in enumerate(bounds))


MONTHS = ("FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')", "FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')")
LAYOUTS = {
    "months of dates": Layout("postgresql", "date", ("{} PARTITION BY RANGE (d)", *parts(*MONTHS))),
    "days of times, some missing": Layout(
        "postgresql",
        "timestamp",
        ("{} PARTITION BY RANGE (d)", *parts("FOR VALUES FROM ('2024-01-30') TO ('2024-01-31')")),
    ),
    "open ranges": Layout(
        "postgresql",
        "integer",
        (
            "{} PARTITION BY RANGE (d)",
            *parts("FOR VALUES FROM (MINVALUE) TO (20240131)", "FOR VALUES FROM (20240131) TO (MAXVALUE)"),
        ),
    ),
    "list with null and default": Layout(
        "postgresql", "integer", ("{} PARTITION BY LIST (d)", *parts("FOR VALUES IN (20240130, NULL)", "DEFAULT"))
    ),
    "list of several": Layout(
        "postgresql",
        "integer",
        ("{} PARTITION BY LIST (d)", *parts("FOR VALUES IN (20240130, 20240201)", "FOR VALUES IN (20240131)")),
    ),
    "months of columns": Layout(
        "mysql",
        "date",
        (
            "{} PARTITION BY RANGE COLUMNS (d)"
            " (PARTITION a VALUES LESS THAN ('2024-02-01'), PARTITION b VALUES LESS THAN ('2024-03-01'))",
        ),
    ),
    "months by an expression": Layout(
        "mysql",
        "date",
        (
            "{} PARTITION BY RANGE (TO_DAYS(d))"
            " (PARTITION a VALUES LESS THAN (TO_DAYS('2024-02-01')), PARTITION b VALUES LESS THAN MAXVALUE)",
        ),
    ),
    "list and default": Layout(
        "mysql",
        "integer",
        ("{} PARTITION BY LIST (d) (PARTITION a VALUES IN (20240130), PARTITION rest DEFAULT)",),
    ),
    "ranges that end": Layout(
        "mysql", "integer", ("{} PARTITION BY RANGE (d) (PARTITION a VALUES LESS THAN (20240131))",)
    ),
}
ALWAYS = ("months of dates", "list with null and default", "months of columns", "ranges that end")


def filled(copied: Copied, layout: Layout) -> None:
    copied.in_source(f"CREATE TABLE facts (d {layout.type}, {COLUMNS})")
    for day in layout.days[:4]:
        copied.in_source(
            f"INSERT INTO facts SELECT '{day}', n, n / 7.0, CASE WHEN n % 3 > 0 THEN 'n' || n END"  # noqa: S608
            " FROM generate_series(1, 60) AS n"
        )
    copied.in_source("INSERT INTO facts VALUES (NULL, 900, 1, 'without a day')")
    kind = "datetime(6)" if (layout.database, layout.type) == ("mysql", "timestamp") else layout.type
    for statement in layout.ddl:
        copied.in_target(statement.replace("{}", f"CREATE TABLE facts (d {kind}, {COLUMNS})"))


@pytest.mark.parametrize("switch", ["auto", pytest.param("always_stage", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.thorough) for name in LAYOUTS]
)
def test_days_arrive_whole(copies: Copies, name: str, switch: str):
    """First load, then a day that changed, one that lost rows, and a new one: row by row as in the source."""
    layout = LAYOUTS[name]
    copied = copies("postgresql", layout.database)
    filled(copied, layout)
    settings: dict[str, Any] = {"kind": "partition", "partition_column": "d", "switch": switch, "restatement": "hash"}
    settings |= {"initial_load_count": "all", "values": {"nulls": "exclude"}}
    with copied.tidegate({"facts": settings}) as synced:
        synced.run()
        copied.assert_equal(ALL)
        copied.in_source(f"UPDATE facts SET amount = amount + 1 WHERE d = '{layout.days[1]}'")  # noqa: S608
        copied.in_source(f"DELETE FROM facts WHERE d = '{layout.days[2]}' AND id < 5")  # noqa: S608
        copied.in_source(f"INSERT INTO facts VALUES ('{layout.days[4]}', 1, 1, NULL)")  # noqa: S608
        synced.run()
        copied.assert_equal(ALL)
        assert synced.verify().outcome == "equal"
