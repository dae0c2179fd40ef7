"""Applications write for a while, runs follow them and are killed, and in the end no row is lost, doubled or stale.

TIDEGATE_WORKLOAD_SECONDS sets how long the writers write, TIDEGATE_SEED what they write.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit import processes
from kit.orders import ALL_ROWS, Orders
from kit.processes import wait_until
from kit.project import child
from kit.sides import ask, kind_of
from kit.workload import SERIAL, Habits, Workload, differences
from tidegate.errors import RunFailed

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.mysql,
    pytest.mark.thorough,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc"),
]

SECONDS = float(os.environ.get("TIDEGATE_WORKLOAD_SECONDS", "40"))
SEED = int(os.environ.get("TIDEGATE_SEED", "1"))

TIME: dict[str, Any] = {"kind": "incremental", "changes": "timestamp", "timestamp_column": "updated_at", "look_back": 0}
HYBRID: dict[str, Any] = {"kind": "incremental", "changes": "hybrid", "timestamp_column": "updated_at", "look_back": 0}
NUMBER: dict[str, Any] = {"kind": "incremental", "changes": "sequence", "sequence_column": "id"}
XMIN: dict[str, Any] = {"kind": "incremental", "changes": "xmin"}
BY_KEYS = {"deletes": "key_compare"}
HISTORY = {"load": "scd2", "history": "generate", "keys": ["id"]}
ONCE = {"null_cursor": "once"}
LATE = {"look_back": 30}
NO_HOLD = {"max_hold": 0}

CASES: dict[str, tuple[dict[str, Any], Habits]] = {
    "timestamp, merge": ({**TIME, **BY_KEYS}, Habits(updates=True, removes=True)),
    "timestamp, append": ({**TIME, "load": "append"}, Habits()),
    "timestamp, replace": ({**TIME, "load": "replace"}, Habits(updates=True, removes=True)),
    "timestamp, scd2": ({**TIME, **HISTORY}, Habits(bulk=False)),
    "hybrid, merge": ({**HYBRID, **BY_KEYS, **ONCE, **LATE}, Habits(True, True, True, True)),
    "hybrid, merge, gaps": ({**HYBRID, **NO_HOLD}, Habits(updates=True)),
    "hybrid, append": ({**HYBRID, **ONCE, **LATE, "load": "append"}, Habits(late=True, without_time=True)),
    "sequence, merge": (dict(NUMBER), Habits()),
    "sequence, append": ({**NUMBER, "load": "append"}, Habits(late=True, without_time=True)),
    "sequence, replace": ({**NUMBER, "load": "replace"}, Habits()),
    "xmin, merge": ({**XMIN, **BY_KEYS}, Habits(True, True, True, True, True)),
    "xmin, append": ({**XMIN, "load": "append"}, Habits(late=True, without_time=True)),
    "full, merge": (
        {"kind": "incremental", "changes": "full", "load": "merge", "allow_deletes": True},
        Habits(True, True, True, True, True),
    ),
    "full, replace": (
        {"kind": "incremental", "changes": "full", "load": "replace"},
        Habits(True, True, True, True, True),
    ),
}
PAIRS = [("postgresql", "mysql"), ("mysql", "postgresql")]
STORIES = [(case, pair) for case in CASES for pair in PAIRS if "xmin" not in case or pair[0] == "postgresql"]


class Follower:
    """Runs again and again. Every other run is a process of its own, which is killed at a random moment."""

    def __init__(self, orders: Orders, folder: Path, chance: random.Random) -> None:
        self.orders, self._chance = orders, chance
        self._file = folder / "tidegate.yml"
        self._file.write_text(yaml.safe_dump(orders.configuration()))
        self.runs = self.kills = 0

    def follow(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.orders.run()
            self.runs += 1
            self._killed_run()

    def _killed_run(self) -> None:
        run = child("-m", "tidegate.cli.main", "run", "--quiet", "-c", str(self._file))
        time.sleep(self._chance.uniform(0.4, 2.5))
        self.kills += run.poll() is None
        processes.kill_session(run.pid)
        run.communicate()
        wait_until(self._is_free, "the killed run let go of the table", 60)

    def _is_free(self) -> bool:
        try:
            return self.orders.run(check=False).outcome != "failed"
        except RunFailed:
            return False


@pytest.mark.parametrize(("case", "pair"), STORIES, ids=[f"{case}: {' to '.join(pair)}" for case, pair in STORIES])
def test_workload_ends_row_by_row_equal(
    case: str, pair: tuple[str, str], new_orders: Callable[[str, str], Orders], tmp_path: Path
):
    """Long transactions, rolled-back numbers, equal times by the thousand, late rows, updates, deletes, killed runs."""
    orders = new_orders(*pair)
    settings, habits = CASES[case]
    orders.settings = dict(settings)
    orders.in_source("DROP TABLE orders")
    orders.in_source(SERIAL[kind_of(orders.source)])
    follower = Follower(orders, tmp_path, random.Random(SEED))
    with Workload(orders.source, habits, seed=SEED) as workload:
        follower.follow(SECONDS)
    orders.run()
    assert workload.statements > 20 and follower.runs > 1
    of_target = None
    if settings.get("load") == "scd2":
        of_target = "SELECT id, item, amount, created_at, updated_at FROM orders WHERE is_current ORDER BY id"
    assert not differences(orders.source, orders.target, ALL_ROWS, of_target)
    assert orders.tidegate().verify().outcome == "equal"
    assert orders.steps() == [] or settings["changes"] == "full"
    assert ask(orders.target, "SELECT count(*) FROM orders")[0][0] > 20
