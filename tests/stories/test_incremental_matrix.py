"""Every strategy with every load, on every pair of databases: three days, a repeated run, a lost target.

What does not fit is refused when the configuration is read.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from kit.orders import ALL_ROWS, Orders
from kit.pairs import EVERY_PAIR
from kit.sides import ask, forget_loads
from tidegate.errors import Unsupported

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

STRATEGIES: dict[str, dict[str, Any]] = {
    "timestamp": {"timestamp_column": "updated_at"},
    "hybrid": {"timestamp_column": "updated_at", "id_column": "id"},
    "sequence": {"sequence_column": "id"},
    "xmin": {},
    "full": {},
    "snapshot": {},
}
LOADS: dict[str, dict[str, Any]] = {
    "append": {},
    "merge": {},
    "replace": {},
    "scd2": {"history": "generate", "keys": ["id"]},
}
UNFIT = {("xmin", "scd2"), *product(("full", "snapshot"), ("append", "scd2"))}
READS_UPDATES = ("timestamp", "hybrid", "xmin", "full", "snapshot")
READS_ALL = ("full", "snapshot")
CURRENT = "SELECT id, item, amount, created_at, updated_at FROM orders WHERE is_current ORDER BY id"
DAYS = ("2024-01-31 10:00:00.000001", "2024-01-31 12:30:00.123456", "2024-02-01 09:00:00")
MATRIX = [
    (strategy, load, pair)
    for strategy, load, pair in product(STRATEGIES, LOADS, EVERY_PAIR)
    if (strategy, load) not in UNFIT and not (strategy == "xmin" and pair[0] == "mysql")
]
EVERY_DAY = {
    ("timestamp", "append", "mysql", "mysql"),
    ("hybrid", "scd2", "postgresql", "mysql"),
    ("snapshot", "merge", "mysql", "postgresql"),
}


def _case(strategy: str, load: str, pair: tuple[str, str]) -> Any:
    marks = [] if (strategy, load, *pair) in EVERY_DAY else [pytest.mark.thorough]
    return pytest.param(strategy, load, pair, id=f"{strategy}, {load}, {' to '.join(pair)}", marks=marks)


def settings(strategy: str, load: str) -> dict[str, Any]:
    return {"kind": "incremental", "changes": strategy, "load": load, **STRATEGIES[strategy], **LOADS[load]}


def days(orders: Orders, strategy: str, load: str) -> None:
    """Write and run: rows come, a row changes and others come, and nothing happens."""
    runs = {"reload": True} if strategy == "snapshot" else {}
    orders.write(1, 2, 3, at=DAYS[0])
    orders.run()
    orders.write(4, 5, at=DAYS[1])
    if strategy in READS_UPDATES and load != "append":
        orders.write(2, at=DAYS[1], item="changed", amount="-0.01")
    orders.run(**runs)
    orders.write(6, at=DAYS[2], item="naïve ✓")
    orders.run(**runs)
    assert orders.run().rows_loaded == 0


def assert_equal(orders: Orders, load: str) -> None:
    """Every row of the source is in the target once; of versions, in its current one."""
    asked = CURRENT if load == "scd2" else ALL_ROWS
    assert [tuple(map(str, row)) for row in ask(orders.target, asked)] == [
        tuple(map(str, row)) for row in orders.rows(orders.source)
    ]
    assert orders.tidegate().verify().outcome == "equal"


@pytest.mark.parametrize(("strategy", "load", "pair"), [_case(*cell) for cell in MATRIX])
def test_strategy_and_load_keep_a_table_in_sync(
    strategy: str, load: str, pair: tuple[str, str], new_orders: Callable[[str, str], Orders]
):
    orders = new_orders(*pair)
    orders.settings = settings(strategy, load)
    days(orders, strategy, load)
    assert_equal(orders, load)
    versions = ask(orders.target, "SELECT count(*) FROM orders")[0][0]
    assert versions == (7 if load == "scd2" and strategy != "sequence" else 6)
    forget_loads(orders.target)
    orders.run(check=False)
    assert_equal(orders, load)
    assert ask(orders.target, "SELECT count(*) FROM orders")[0][0] == versions, "a lost ledger doubles no row"
    orders.in_target("DROP TABLE orders")
    orders.run()
    assert_equal(orders, load)


@pytest.mark.parametrize(("strategy", "load"), [pytest.param(*pair, id=", ".join(pair)) for pair in sorted(UNFIT)])
def test_unfit_load_is_refused(strategy: str, load: str, plain_orders: Orders):
    plain_orders.settings = settings(strategy, load)
    with pytest.raises(Unsupported, match=f"`load: {load}` does not fit `changes: {strategy}`"):
        plain_orders.tidegate()
