"""Alerts of `tidegate monitor`, each provoked by what happens to a project: slow servers, locks, refused rows."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from kit import sides
from kit.shop import Shop, ago, conditions
from tidegate.errors import RunFailed
from tidegate.model.health import Alert

pytestmark = [pytest.mark.postgres]

COLUMNS = "cob integer NOT NULL, id bigint NOT NULL, amount numeric(38,18), note text, at timestamp"


def alert(shop: Shop, condition: str, *tables: str) -> Alert:
    """Return the one alert of this condition."""
    [found] = [each for each in shop.tidegate().monitor(*tables).alerts if each.condition == condition]
    return found


def sales(shop: Shop, **settings: Any) -> None:
    """Configure `sales` alone."""
    shop.settings["tables"] = {
        "sales": {"kind": "partition", "partition_column": "cob", "initial_load_count": "all", **settings}
    }


def partitioned(shop: Shop, **settings: Any) -> None:
    """Create the target of `sales` with a partition for each of its days. Loads switch them."""
    sales(shop, switch="auto", **settings)
    sides.do(shop.target, f"CREATE TABLE sales ({COLUMNS}) PARTITION BY RANGE (cob)")
    for day in (20240101, 20240102, 20240103):
        sides.do(shop.target, f"CREATE TABLE sales_{day} PARTITION OF sales FOR VALUES FROM ({day}) TO ({day + 1})")


def new_day(shop: Shop, day: int, rows: int = 1) -> None:
    shop.in_source(f"INSERT INTO sales SELECT {day}, n, n, 'x', NULL FROM generate_series(1, {rows}) AS n")  # noqa: S608


def restate(shop: Shop, day: int) -> None:
    shop.in_source(f"INSERT INTO sales VALUES ({day}, 900, 1, 'more', NULL)")  # noqa: S608


def slow_for(shop: Shop, day: int, seconds: float) -> None:
    """Make the target take so long for a day: a trigger sleeps at its first row."""
    sides.do(
        shop.target,
        f"""CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NEW; END $$""",
    )
    sides.do(
        shop.target,
        "CREATE TRIGGER nap BEFORE INSERT ON sales FOR EACH ROW"
        f" WHEN (NEW.cob = {day} AND NEW.id = 1) EXECUTE FUNCTION nap()",
    )


@contextmanager
def held(shop: Shop, table: str, seconds: float) -> Iterator[None]:
    """Let a reader hold a table of the target, until somebody has waited for it so long."""

    def release() -> None:
        waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        end = time.monotonic() + 30
        while not sides.ask(shop.target, waiting) and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(seconds)
        reader.rollback()

    with psycopg.connect(shop.target) as reader:
        reader.execute(f"SELECT count(*) FROM {table}")  # type: ignore[arg-type]  # noqa: S608 - a word of ours
        thread = threading.Thread(target=release)
        thread.start()
        yield
        thread.join()


def test_a_slow_window_is_told_by_its_own_history(shop: Shop):
    """The newest day takes more than a second, and days took much less before."""
    sales(shop)
    for day in (20240104, 20240105, 20240106):
        shop.run()
        new_day(shop, day)
    assert conditions(shop.tidegate().monitor()) == set()
    slow_for(shop, 20240106, 1.2)
    shop.run()
    shop.settings["monitoring"] = {"slow_from": 1, "slow": 2}
    found = alert(shop, "slow")
    assert (found.severity, found.table) == ("warning", "sales")
    assert 1.2 <= (found.value or 0) < 60
    assert (found.threshold or 0) < 1.2
    shop.settings["monitoring"] = {"slow_from": 1, "slow": None}
    assert conditions(shop.tidegate().monitor()) == set(), "null switches it off"


def test_a_slow_switch_and_a_new_partition(shop: Shop):
    """The target gets a partition for the new day. A reader holds the switch of another up."""
    partitioned(shop, switch_lock_wait=10)
    for _ in range(3):
        shop.run()
        restate(shop, 20240102)
    assert conditions(shop.tidegate().monitor()) == set()
    with held(shop, "sales", 1.0):
        shop.run()
    shop.settings["monitoring"] = {"slow_from": 1, "slow": 2}
    found = alert(shop, "slow_switch")
    assert (found.severity, found.table) == ("warning", "sales")
    assert (found.value or 0) > 1
    new_day(shop, 20240104)
    shop.run()
    found = alert(shop, "partition_created")
    assert (found.severity, found.table) == ("info", "sales")
    assert found.text == "runs created 1 partition: 20240104"


def test_a_switch_that_fails_is_critical(shop: Shop):
    """The target refuses the rows of one day: the alert is that of switches."""
    partitioned(shop)
    shop.run()
    assert conditions(shop.tidegate().monitor()) == set()
    sides.do(shop.target, "ALTER TABLE sales ADD CONSTRAINT small CHECK (id < 900)")
    restate(shop, 20240102)
    with pytest.raises(RunFailed):
        shop.run()
    found = {(severity, condition) for severity, condition, _ in conditions(shop.tidegate().monitor())}
    assert {("critical", "switch_failed"), ("warning", "switch_success_rate")} <= found
    assert ("critical", "load_failed") not in found
    assert alert(shop, "switch_success_rate").value == 0.75
    sides.do(shop.target, "ALTER TABLE sales DROP CONSTRAINT small")
    shop.run()
    assert "switch_failed" not in {condition for _, condition, _ in conditions(shop.tidegate().monitor())}


def test_archives_stages_and_switches_by_hand_are_told(shop: Shop):
    """An archive takes space. A stage that was created by hand is nobody's until it is switched in."""
    partitioned(shop, archive_retention_days=1)
    shop.run()
    restate(shop, 20240102)
    shop.run()
    shop.settings["monitoring"] = {"staging_bytes": 1000}
    found = alert(shop, "staging_bytes")
    assert (found.severity, found.table, found.threshold) == ("warning", "", 1000)
    assert (found.value or 0) > 1000
    shop.settings["monitoring"] = {}
    assert conditions(shop.tidegate().monitor()) == set()

    partitions = shop.tidegate().table("sales").partitions
    stage = partitions.create_stage(20240103, "_MINE")
    found = alert(shop, "staging_orphans")
    assert (found.severity, found.value) == ("warning", 1)
    assert stage.name in found.text
    shop.run()
    assert alert(shop, "staging_orphans").remedy == "`Tidegate.drop_orphaned_stages()` drops them.", "runs keep it"
    sides.do(shop.target, f'INSERT INTO "{stage.name}" VALUES (20240103, 1, 1, NULL, NULL)')  # noqa: S608
    partitions.switch(stage, 20240103)
    assert conditions(shop.tidegate().monitor()) == {("info", "by_hand", "sales")}
    shop.tidegate().restore("sales", 20240102)
    kept = shop.tidegate().history(2)
    assert [(report["verb"], step["value"], step["rows"]) for report in kept for step in report["steps"]] == [
        ("restore", "20240102", 100),
        ("switch", "20240103", 1),
    ]


def test_parallel_loads_that_wait_are_a_warning(shop: Shop, monkeypatch: pytest.MonkeyPatch):
    """One of three days keeps its connection busy, and the others have nothing to do."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)  # so many threads at most, whatever machine this is
    sales(shop)
    shop.settings |= {"monitoring": {"slow_from": 1}, "max_connections": 4}
    sides.do(shop.target, f"CREATE TABLE sales ({COLUMNS})")
    slow_for(shop, 20240102, 1.2)
    shop.run()
    found = alert(shop, "parallel_efficiency")
    assert (found.severity, found.threshold) == ("warning", 0.5)
    assert 0.2 < (found.value or 0) < 0.5


def test_a_proof_grows_old_until_somebody_verifies(shop: Shop):
    sales(shop)
    shop.run()
    ago(shop, days=8)
    shop.run()
    assert conditions(shop.tidegate().monitor()) == {("warning", kind, "sales") for kind in ("proof_age", "unmoved")}
    shop.tidegate().verify()
    assert conditions(shop.tidegate().monitor()) == {("warning", "unmoved", "sales")}


def test_due_needs_values_that_are_dates(shop: Shop):
    """Values are numbers of batches: nothing tells which day is late."""
    shop.in_source("UPDATE sales SET cob = cob % 10")
    sales(shop)
    shop.settings["monitoring"] = {"tables": {"sales": {"due": "00:00"}}}
    shop.run()
    found = alert(shop, "no_dates")
    assert (found.severity, found.table) == ("info", "sales")
    assert "3 is no date" in found.text
    assert conditions(shop.tidegate().monitor()) == {("info", "no_dates", "sales")}


def test_due_concerns_no_table_that_is_loaded_as_a_whole(shop: Shop):
    """Such a table has no newest value. Without the source, names of windows are no values either."""
    tables = shop.configuration()["tables"]
    whole = {"kind": "incremental", "changes": "full", "source_table": "Orders", "target_table": "copy"}
    shop.settings["tables"] = {**tables, "whole": {**whole, "lake_table": "copy"}}
    shop.settings["monitoring"] = {"due": "00:00"}
    shop.run()
    late = {("warning", "late", "sales"), ("warning", "late", "Orders")}
    assert conditions(shop.tidegate().monitor()) == late
    shop.source = shop.source.rsplit("/", 1)[0] + "/nowhere"
    found = {each for each in conditions(shop.tidegate().monitor()) if each[1] != "unreachable"}
    assert ("warning", "late", "sales") in found
    assert found <= late


def test_forget_and_watermark_by_hand_are_told(shop: Shop):
    shop.run()
    shop.tidegate().forget("sales", 20240101)
    shop.tidegate().set_watermark("Orders", "2024-01-31 10:00:10", why="the source was corrected", who="anna")
    found = {each.table: each.text for each in shop.tidegate().monitor().alerts if each.condition == "by_hand"}
    assert found.keys() == {"sales", "Orders"}
    assert found["sales"].startswith("`forget` by hand: ")
    assert found["Orders"].startswith("`watermark` by hand: ")
    watermark, forget = shop.tidegate().history(2)
    [step] = watermark["steps"]
    assert step["why"] == "set to 2024-01-31 10:00:10 by anna: the source was corrected"
    assert (forget["verb"], forget["steps"][0]["value"], forget["outcome"]) == ("forget", "20240101", "done")
    assert shop.tidegate().report(shop.folder / "report.html").exists()
