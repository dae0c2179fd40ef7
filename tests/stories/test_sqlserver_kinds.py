"""The stories of static tables and SCD2 tables with SQL Server as source, target or both.

They need a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing
from typing import Any

import pymssql
import pytest

from conformance.servers.postgresql import Absent
from kit.pairs import ALL_ARE_ASKED_FOR
from kit.project import database_on
from kit.sides import ask
from kit.sqlserver_witness import login
from kit.summary import GAPS
from stories.test_made_versions import (
    Plain,
    test_changed_row_creates_a_version,
    test_late_file_does_not_change_history,
    test_lost_history_is_rebuilt_from_the_lake,
    test_with_a_cursor_all_keys_are_compared,
    test_without_a_cursor_the_whole_source_is_read,
)
from stories.test_scd2 import (
    CREATE,
    Dimension,
    test_closed_key_stays_closed,
    test_deleted_keys_are_closed_and_reopen,
    test_flags_can_be_recomputed,
    test_future_cursor_hides_no_rows,
    test_large_batch_loads_in_several_transactions,
    test_late_and_equal_cursors_in_the_look_back,
    test_late_version_is_seen_when_another_is_deleted,
    test_lost_versions_and_files_are_restored,
    test_lost_versions_are_restored_with_new_ones,
    test_new_versions_supersede_older_ones,
    test_version_key_updates_versions_in_place,
)
from stories.test_sqlserver import server
from stories.test_static import (
    Reference,
    test_changed_row_is_reported_and_repaired,
    test_deleted_rows_stay_without_allow_deletes,
    test_lost_target_rows_are_restored,
    test_referenced_rows_are_updated_in_place,
    test_static_table_follows_the_source,
    test_table_without_a_key_is_replaced,
)
from tidegate.databases.sqlserver import SqlServer
from tidegate.sql.text import sql

__all__ = [
    "server",
    "test_changed_row_creates_a_version",
    "test_changed_row_is_reported_and_repaired",
    "test_closed_key_stays_closed",
    "test_deleted_keys_are_closed_and_reopen",
    "test_deleted_rows_stay_without_allow_deletes",
    "test_flags_can_be_recomputed",
    "test_future_cursor_hides_no_rows",
    "test_large_batch_loads_in_several_transactions",
    "test_late_and_equal_cursors_in_the_look_back",
    "test_late_file_does_not_change_history",
    "test_late_version_is_seen_when_another_is_deleted",
    "test_lost_history_is_rebuilt_from_the_lake",
    "test_lost_target_rows_are_restored",
    "test_lost_versions_and_files_are_restored",
    "test_lost_versions_are_restored_with_new_ones",
    "test_new_versions_supersede_older_ones",
    "test_referenced_rows_are_updated_in_place",
    "test_static_table_follows_the_source",
    "test_table_without_a_key_is_replaced",
    "test_version_key_updates_versions_in_place",
    "test_with_a_cursor_all_keys_are_compared",
    "test_without_a_cursor_the_whole_source_is_read",
]
pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

ROW_VERSIONS = (
    "CREATE TABLE customers (id int NOT NULL, region varchar(5) NOT NULL, name varchar(40),"
    " lastmodified datetime2(6) NOT NULL, islatest bit NOT NULL, rv rowversion)"
)
COMES = (
    "INSERT INTO customers (id, region, name, lastmodified, islatest)"
    " VALUES (%s, 'EU', 'x', CONVERT(datetime2(6), '2024-01-31 10:00:00', 121), 1)"
)
PAIRS = [
    ("sqlserver", "sqlserver"),
    ("sqlserver", "postgresql"),
    ("postgresql", "sqlserver"),
    *([("sqlserver", "mysql"), ("mysql", "sqlserver")] if ALL_ARE_ASKED_FOR else []),
]
Database = Callable[[str], str]


@pytest.fixture
def database(server: Any, request: pytest.FixtureRequest):
    """A function that creates a database on a server of the given kind."""
    if isinstance(server, Absent):
        request.config.stash[GAPS][str(server)] += 1
        pytest.skip(str(server))

    def place(kind: str) -> AbstractContextManager[str]:
        if kind == "sqlserver":
            return server.database()
        return database_on(request.getfixturevalue({"mysql": "mariadb", "postgresql": "postgres"}[kind]))

    with ExitStack() as opened:
        yield lambda kind: opened.enter_context(place(kind))


@pytest.fixture(params=PAIRS, ids=" to ".join)
def reference(database: Database, request: pytest.FixtureRequest, tmp_path) -> Reference:
    source, target = request.param
    reference = Reference(database(source), database(target), tmp_path / "lake", request.getfixturevalue("spark"))
    reference.open()
    return reference


@pytest.fixture(params=PAIRS, ids=" to ".join)
def dimension(database: Database, request: pytest.FixtureRequest, tmp_path) -> Dimension:
    source, target = request.param
    dimension = Dimension(database(source), database(target), tmp_path / "lake", request.getfixturevalue("spark"))
    dimension.open(source)
    return dimension


@pytest.fixture(params=PAIRS, ids=" to ".join)
def plain(database: Database, request: pytest.FixtureRequest, tmp_path) -> Plain:
    source, target = request.param
    plain = Plain(database(source), database(target), tmp_path / "lake", request.getfixturevalue("spark"))
    plain.open(source)
    return plain


@pytest.fixture
def counted(database: Database, request: pytest.FixtureRequest, tmp_path) -> Callable[[str], Dimension]:
    """A function that creates a loaded dimension with a rowversion as cursor."""

    def made(target: str) -> Dimension:
        settings = {"business_keys": ["id", "region"], "cursor_column": "rv"}
        spark = request.getfixturevalue("spark")
        dimension = Dimension(database("sqlserver"), database(target), tmp_path / "lake", spark, settings)
        try:
            ask(dimension.source, "DECLARE @x AS TABLE (rv rowversion); SELECT MIN_ACTIVE_ROWVERSION()")
        except pymssql.Error:
            missing = "row versions and MIN_ACTIVE_ROWVERSION: a compatible server may have none"
            request.config.stash[GAPS][missing] += 1
            pytest.skip(missing)
        dimension.in_source(ROW_VERSIONS)
        dimension.in_source(COMES, 1)
        dimension.run()
        return dimension

    return made


@pytest.mark.parametrize("target", ["sqlserver", "postgresql"])
def test_late_commit_of_a_rowversion_is_read(counted: Callable[[str], Dimension], target: str):
    """When a transaction with a lower rowversion commits after a run, the next run reads its row."""
    dimension = counted(target)
    with closing(pymssql.connect(**login(dimension.source))) as slow, slow.cursor() as cursor:
        cursor.execute(COMES, (2,))
        dimension.in_source(COMES, 3)
        dimension.run()
        slow.commit()

    dimension.run()

    dimension.assert_equal()
    assert [row[0] for row in dimension.versions_in(dimension.target)] == [1, 2, 3]


def test_restored_source_is_read_again(counted: Callable[[str], Dimension], monkeypatch: pytest.MonkeyPatch):
    """After a restore, row versions start lower than the watermark, so everything is read again. The test only changes
    the clock."""
    dimension = counted("sqlserver")
    dimension.in_source(COMES, 2)
    with monkeypatch.context() as restored:
        restored.setattr(SqlServer, "clock", lambda database, cursor: sql("SELECT N'1'"))
        assert dimension.run().steps[0].why.startswith("the source was restored")
    dimension.in_source(COMES, 3)
    dimension.run()

    dimension.assert_equal()
    assert [row[0] for row in dimension.versions_in(dimension.target)] == [1, 2, 3]


@pytest.mark.parametrize("moment", ["datetime", "smalldatetime", "datetime2(0)", "datetime2(7)"])
def test_cursor_works_with_every_datetime_type(
    database: Database, moment: str, request: pytest.FixtureRequest, tmp_path
):
    """A cursor can be `datetime`, `smalldatetime` or `datetime2` of any precision, also with equal values."""
    spark = request.getfixturevalue("spark")
    dimension = Dimension(database("sqlserver"), database("sqlserver"), tmp_path / "lake", spark)
    dimension.in_source(CREATE.format(moment=moment, truth="bit"))
    dimension.came(1, 100, "first")
    dimension.run()
    dimension.came(1, 20, "second")
    dimension.came(2, 20, "at the same cursor")
    dimension.run()
    dimension.came(3, 20, "at that cursor, too")
    dimension.run()

    dimension.assert_equal()
    assert len(dimension.versions_in(dimension.target)) == 4
    assert dimension.run().outcome == "nothing to do"
