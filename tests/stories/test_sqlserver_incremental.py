"""The stories of incremental tables with SQL Server as source, target or both, and each load of each change.

They need a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pymssql
import pytest

from conformance.servers.postgresql import Absent
from kit.orders import Orders
from kit.pairs import ALL_ARE_ASKED_FOR
from kit.project import database_on
from kit.sides import ask
from kit.summary import GAPS
from stories.test_incremental import (
    test_changes_are_merged,
    test_deleted_rows_leave_by_key_comparison,
    test_future_cursor_does_not_advance_the_watermark,
    test_greatest_of_two_columns_is_the_cursor,
    test_history_is_generated_from_changes,
    test_replace_loads_all_rows_when_one_changed,
    test_restored_source_is_said,
    test_rows_without_cursor_are_read_once,
    test_rows_without_cursor_are_refused,
)
from stories.test_incremental_loads import (
    test_appended_rows_are_never_changed,
    test_completeness_has_a_tolerance,
    test_late_rows_are_applied_and_counted,
    test_late_rows_wait_in_quarantine,
    test_merge_reads_only_the_keys_of_the_window,
    test_newest_of_several_rows_of_a_key_counts,
    test_removed_duplicates_are_kept,
    test_rows_are_appended_by_a_growing_number,
    test_rows_that_left_are_marked,
    test_rows_without_key_are_appended_by_content,
    test_several_rows_of_a_key_can_be_refused,
)
from stories.test_sqlserver import server
from tidegate import Tidegate

__all__ = [
    "server",
    "test_appended_rows_are_never_changed",
    "test_changes_are_merged",
    "test_completeness_has_a_tolerance",
    "test_deleted_rows_leave_by_key_comparison",
    "test_future_cursor_does_not_advance_the_watermark",
    "test_greatest_of_two_columns_is_the_cursor",
    "test_history_is_generated_from_changes",
    "test_late_rows_are_applied_and_counted",
    "test_late_rows_wait_in_quarantine",
    "test_merge_reads_only_the_keys_of_the_window",
    "test_newest_of_several_rows_of_a_key_counts",
    "test_removed_duplicates_are_kept",
    "test_replace_loads_all_rows_when_one_changed",
    "test_restored_source_is_said",
    "test_rows_are_appended_by_a_growing_number",
    "test_rows_that_left_are_marked",
    "test_rows_without_cursor_are_read_once",
    "test_rows_without_cursor_are_refused",
    "test_rows_without_key_are_appended_by_content",
    "test_several_rows_of_a_key_can_be_refused",
]
pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

EARLY, LATER = "2024-01-31 10:00:00.000001", "2024-01-31 12:30:00.123456"
PAIRS = [
    ("sqlserver", "sqlserver"),
    *([("sqlserver", "postgresql"), ("postgresql", "sqlserver")] if ALL_ARE_ASKED_FOR else []),
]
CHANGES: dict[str, dict[str, Any]] = {
    "timestamp": {"timestamp_column": "updated_at"},
    "hybrid": {"timestamp_column": "updated_at", "id_column": "id"},
    "sequence": {"sequence_column": "id"},
    "rowversion": {},
    "full": {},
    "snapshot": {},
}
LOADS: dict[str, dict[str, Any]] = {
    "append": {},
    "merge": {},
    "replace": {},
    "scd2": {"keys": ["id"], "history": "generate"},
}
FITS = [
    *((change, load) for change in ("timestamp", "hybrid", "rowversion") for load in LOADS),
    ("sequence", "append"),
    ("sequence", "merge"),
    ("full", "replace"),
    ("full", "merge"),
    ("snapshot", "replace"),
    ("snapshot", "merge"),
]


@pytest.fixture
def new_orders(
    server: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Orders]]:
    if isinstance(server, Absent):
        request.config.stash[GAPS][str(server)] += 1
        pytest.skip(str(server))
    with ExitStack() as opened:

        def database(kind: str) -> str:
            if kind == "sqlserver":
                return str(opened.enter_context(server.database()))
            return opened.enter_context(database_on(request.getfixturevalue("postgres")))

        def make(source: str, target: str) -> Orders:
            return Orders(database(source), database(target), tmp_path_factory.mktemp("lake")).open()

        yield make


@pytest.fixture(params=PAIRS, ids=" to ".join)
def orders(new_orders: Callable[[str, str], Orders], request: pytest.FixtureRequest) -> Orders:
    return new_orders(*request.param)


@pytest.fixture
def plain_orders(new_orders: Callable[[str, str], Orders]) -> Orders:
    return new_orders("sqlserver", "sqlserver")


def name_of(changes: str, load: str) -> str:
    return f"by_{changes}_{load}"


def has_row_versions(orders: Orders, request: pytest.FixtureRequest) -> bool:
    try:
        ask(orders.source, "DECLARE @x AS TABLE (rv rowversion); SELECT MIN_ACTIVE_ROWVERSION()")
    except pymssql.Error:
        request.config.stash[GAPS]["row versions and MIN_ACTIVE_ROWVERSION: a compatible server may have none"] += 1
        return False
    return True


@pytest.mark.thorough
def test_every_load_of_every_change(plain_orders: Orders, request: pytest.FixtureRequest):
    """Rows come, and one changes where the change sees that. All tables are in one project."""
    orders = plain_orders
    fits = [fit for fit in FITS if fit[0] != "rowversion" or has_row_versions(orders, request)]
    for changes, load in fits:
        counter = ", rv rowversion" if changes == "rowversion" else ""
        orders.in_source(
            f"CREATE TABLE {name_of(changes, load)} (id bigint NOT NULL PRIMARY KEY, item varchar(40),"
            f" updated_at datetime2(6) NOT NULL{counter})"
        )
        insert(orders, name_of(changes, load), (1, 2, 3), EARLY)
    tables = {
        name_of(changes, load): {
            "kind": "incremental",
            "changes": changes,
            "load": load,
            **CHANGES[changes],
            **LOADS[load],
        }
        for changes, load in fits
    }
    tidegate = Tidegate(source=orders.source, target=orders.target, lake=orders.lake, tables=tables, engine="process")
    tidegate.run()
    for changes, load in fits:
        if changes == "snapshot":  # the next one is due tomorrow
            continue
        insert(orders, name_of(changes, load), (4,), LATER)
        if sees_updates(changes, load):
            orders.in_source(
                f"UPDATE {name_of(changes, load)} SET item = 'coffee', updated_at = %s WHERE id = 2",  # noqa: S608
                LATER,
            )
    tidegate.run()
    for changes, load in fits:
        now = " WHERE is_current = 1" if load == "scd2" else ""
        query = f"SELECT id, item FROM {name_of(changes, load)}{now} ORDER BY id"  # noqa: S608 - our names
        second = "coffee" if sees_updates(changes, load) else "tea"
        expected = [(1, "tea"), (2, second), (3, "tea"), (4, "tea")][: 3 if changes == "snapshot" else 4]
        assert list(map(tuple, ask(orders.target, query))) == expected, (changes, load)
    assert tidegate.verify().outcome == "equal"


def sees_updates(changes: str, load: str) -> bool:
    return load != "append" and changes not in ("sequence", "snapshot")


def insert(orders: Orders, table: str, numbers: tuple[int, ...], at: str) -> None:
    rows = ", ".join(f"({number}, 'tea', '{at}')" for number in numbers)
    orders.in_source(f"INSERT INTO {table} (id, item, updated_at) VALUES {rows}")  # noqa: S608 - our names
