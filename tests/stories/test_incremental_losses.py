"""Incremental tables heal: lost rows, files and ledgers come back, and a killed run is completed by the next one."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kit import sides
from kit.crash import Interrupter, Recorder
from kit.orders import Orders
from kit.project import TESTS, child
from tidegate.errors import RunFailed

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

TIMES = ("2024-01-31 10:00:00.000001", "2024-01-31 12:30:00.123456", "2024-02-01 09:00:00")


def three_windows(orders: Orders) -> None:
    """Run three times: rows come, change and come."""
    for number, at in enumerate(TIMES):
        orders.write(1, 10 + number, at=at, item=f"as of {number}")
        orders.run()


def lose_rows(orders: Orders) -> None:
    orders.in_target("DELETE FROM orders WHERE id <> 10")


def lose_table(orders: Orders) -> None:
    orders.in_target("DROP TABLE orders")


def lose_lake(orders: Orders) -> None:
    shutil.rmtree(orders.lake / "organized")


def lose_one_file(orders: Orders) -> None:
    min(orders.lake.rglob("*.parquet")).unlink()


def break_one_file(orders: Orders) -> None:
    min(orders.lake.rglob("*.parquet")).write_bytes(b"not a file of Parquet")


@pytest.mark.parametrize("lose", [lose_rows, lose_table, lose_lake, lose_one_file, break_one_file])
def test_what_is_lost_comes_back(plain_orders: Orders, lose: Callable[[Orders], None]):
    three_windows(plain_orders)
    lose(plain_orders)
    plain_orders.run()
    plain_orders.assert_equal()
    plain_orders.write(99, at="2024-02-02 00:00:00")
    plain_orders.run()
    plain_orders.assert_equal()


def test_lost_ledger_is_rebuilt(orders: Orders):
    """Windows of the lake are loaded again: the target has their rows, so nothing is written."""
    three_windows(orders)
    sides.forget_loads(orders.target)
    orders.run()
    orders.assert_equal()
    assert orders.status().watermark == "2024-02-01 09:00:00"


def test_ledger_and_lake_are_lost(plain_orders: Orders):
    """Nothing knows the target any more. It is taken over, or loaded again."""
    three_windows(plain_orders)
    sides.forget_loads(plain_orders.target)
    sides.do(plain_orders.target, "DELETE FROM tidegate.scopes")
    shutil.rmtree(plain_orders.lake)
    with pytest.raises(RunFailed, match="rows that no ledger knows"):
        plain_orders.run()
    plain_orders.tidegate().adopt()
    plain_orders.write(1, at="2024-02-03 00:00:00")
    plain_orders.run()
    plain_orders.assert_equal()


def test_killed_run_is_completed(plain_orders: Orders, tmp_path: Path):
    """A run is interrupted at each of its boundaries in turn. The next run ends in the same state."""
    orders = plain_orders
    orders.write(1, 2, at=TIMES[0])
    recorder = Recorder(tmp_path / "boundaries")
    orders.tidegate(recorder).run()
    assert len(recorder.times()) > 5
    for number, place in enumerate(recorder.times()):
        orders.write(1, 100 + number, at=f"2024-03-{number + 1:02} 00:00:00")
        # A task that is interrupted ends in a thread of its own.
        with pytest.raises((KeyboardInterrupt, RunFailed)):
            orders.tidegate(Interrupter(place, 1, tmp_path / place)).run()
        orders.run()
        orders.assert_equal()


@pytest.mark.thorough
def test_process_that_is_killed_is_completed(orders: Orders, tmp_path: Path):
    """The process of a run is killed with SIGKILL at each of its boundaries in turn."""
    orders.write(1, 2, at=TIMES[0])
    recorder = Recorder(tmp_path / "boundaries")
    orders.tidegate(recorder).run()
    file = tmp_path / "tidegate.yml"
    file.write_text(yaml.safe_dump(orders.configuration()))
    for number, place in enumerate(recorder.times()):
        orders.write(1, 100 + number, at=f"2024-03-{number + 1:02} 00:00:00")
        arguments = (str(file), place, "1", str(tmp_path / f"tally {number}"), "process")
        with child(TESTS / "kit" / "crash.py", *arguments) as victim:
            victim.communicate(timeout=120)
        assert victim.returncode == -signal.SIGKILL
        orders.run()
        orders.assert_equal()


def test_two_runs_at_once_load_once(orders: Orders):
    """One run takes the table; the other one says who has it. Together they load each row once."""
    orders.write(1, 2, 3, at=TIMES[0])
    outcomes: list[str] = []
    threads = [threading.Thread(target=lambda: outcomes.append(orders.run(check=False).outcome)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "done" in outcomes
    orders.assert_equal()


def test_repair_restores_a_changed_row(plain_orders: Orders):
    three_windows(plain_orders)
    plain_orders.in_target("UPDATE orders SET item = 'wrong' WHERE id = 10")
    assert plain_orders.tidegate().verify().outcome == "differences"
    plain_orders.tidegate().repair()
    plain_orders.assert_equal()


@pytest.mark.parametrize("load", ["merge", "replace"])
def test_reload_after_a_lost_ledger_has_the_last_word(plain_orders: Orders, load: str):
    """All rows are loaded again while the ledger is lost. Older windows of the lake are not loaded over them later."""
    plain_orders.settings["load"] = load
    three_windows(plain_orders)
    plain_orders.write(1, at="2024-02-02 00:00:00", item="newest")
    sides.forget_loads(plain_orders.target)
    plain_orders.run(reload=True)
    plain_orders.run()
    plain_orders.assert_equal()
