"""The stories of static tables and of versions once more, with SQL Server at one end or at both.

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
    test_a_change_makes_a_version_and_a_touch_does_not,
    test_a_file_that_comes_late_changes_nothing,
    test_a_history_that_was_lost_is_made_again_from_the_lake,
    test_with_a_mark_all_keys_are_compared,
    test_without_a_mark_the_whole_source_is_compared,
)
from stories.test_scd2 import (
    CREATE,
    Dimension,
    test_a_large_batch_can_go_in_several_transactions,
    test_a_late_version_is_seen_although_another_left_meanwhile,
    test_a_mark_in_the_future_hides_nothing,
    test_an_entity_that_was_closed_stays_closed,
    test_entities_that_left_are_closed_and_come_back,
    test_flags_are_recomputed_if_asked,
    test_late_and_equal_marks_inside_of_the_look_back_are_read,
    test_versions_come_and_supersede_others,
    test_versions_that_are_updated_in_place_have_a_key_of_their_own,
    test_what_is_lost_heals,
    test_what_is_lost_heals_in_the_run_that_brings_news,
)
from stories.test_sqlserver import server
from stories.test_static import (
    Reference,
    test_a_tester_is_told_about_and_restored_on_command,
    test_it_comes_changes_and_stays,
    test_what_others_refer_to_never_leaves,
    test_what_the_target_lost_comes_back,
    test_without_a_key_the_whole_table_is_replaced,
    test_without_deletes_the_source_is_contained,
)
from tidegate.databases.sqlserver import SqlServer
from tidegate.sql.text import sql

__all__ = [
    "server",
    "test_a_change_makes_a_version_and_a_touch_does_not",
    "test_a_file_that_comes_late_changes_nothing",
    "test_a_history_that_was_lost_is_made_again_from_the_lake",
    "test_a_large_batch_can_go_in_several_transactions",
    "test_a_late_version_is_seen_although_another_left_meanwhile",
    "test_a_mark_in_the_future_hides_nothing",
    "test_a_tester_is_told_about_and_restored_on_command",
    "test_an_entity_that_was_closed_stays_closed",
    "test_entities_that_left_are_closed_and_come_back",
    "test_flags_are_recomputed_if_asked",
    "test_it_comes_changes_and_stays",
    "test_late_and_equal_marks_inside_of_the_look_back_are_read",
    "test_versions_come_and_supersede_others",
    "test_versions_that_are_updated_in_place_have_a_key_of_their_own",
    "test_what_is_lost_heals",
    "test_what_is_lost_heals_in_the_run_that_brings_news",
    "test_what_others_refer_to_never_leaves",
    "test_what_the_target_lost_comes_back",
    "test_with_a_mark_all_keys_are_compared",
    "test_without_a_key_the_whole_table_is_replaced",
    "test_without_a_mark_the_whole_source_is_compared",
    "test_without_deletes_the_source_is_contained",
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
    """A new database on the server that is named."""
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
    made = Reference(database(source), database(target), tmp_path / "lake", request.getfixturevalue("spark"))
    made.open()
    return made


@pytest.fixture(params=PAIRS, ids=" to ".join)
def dimension(database: Database, request: pytest.FixtureRequest, tmp_path) -> Dimension:
    source, target = request.param
    made = Dimension(database(source), database(target), tmp_path / "lake", request.getfixturevalue("spark"))
    made.open(source)
    return made


@pytest.fixture(params=PAIRS, ids=" to ".join)
def plain(database: Database, request: pytest.FixtureRequest, tmp_path) -> Plain:
    source, target = request.param
    made = Plain(database(source), database(target), tmp_path / "lake", request.getfixturevalue("spark"))
    made.open(source)
    return made


@pytest.fixture
def counted(database: Database, request: pytest.FixtureRequest, tmp_path) -> Callable[[str], Dimension]:
    """A dimension whose mark is a row version, with one version in it."""

    def made(target: str) -> Dimension:
        settings = {"business_keys": ["id", "region"], "mark_column": "rv"}
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
def test_a_row_version_that_commits_late_is_not_missed(counted: Callable[[str], Dimension], target: str):
    dimension = counted(target)
    with closing(pymssql.connect(**login(dimension.source))) as slow, slow.cursor() as cursor:
        cursor.execute(COMES, (2,))
        dimension.in_source(COMES, 3)
        dimension.run()
        slow.commit()

    dimension.run()

    dimension.assert_equal()
    assert [row[0] for row in dimension.held(dimension.target)] == [1, 2, 3]


def test_a_source_that_was_restored_is_read_anew(counted: Callable[[str], Dimension], monkeypatch: pytest.MonkeyPatch):
    """Its row versions count from lower than before: here only their clock does."""
    dimension = counted("sqlserver")
    dimension.in_source(COMES, 2)
    with monkeypatch.context() as restored:
        restored.setattr(SqlServer, "clock", lambda database, mark: sql("SELECT N'1'"))
        assert dimension.run().steps[0].why.startswith("the source was restored")
    dimension.in_source(COMES, 3)
    dimension.run()

    dimension.assert_equal()
    assert [row[0] for row in dimension.held(dimension.target)] == [1, 2, 3]


@pytest.mark.parametrize("moment", ["datetime", "smalldatetime", "datetime2(0)", "datetime2(7)"])
def test_a_mark_is_a_moment_of_any_precision(database: Database, moment: str, request: pytest.FixtureRequest, tmp_path):
    spark = request.getfixturevalue("spark")
    dimension = Dimension(database("sqlserver"), database("sqlserver"), tmp_path / "lake", spark)
    dimension.in_source(CREATE.format(moment=moment, truth="bit"))
    dimension.came(1, 100, "first")
    dimension.run()
    dimension.came(1, 20, "second")
    dimension.came(2, 20, "at the same mark")
    dimension.run()
    dimension.came(3, 20, "at that mark, too")
    dimension.run()

    dimension.assert_equal()
    assert len(dimension.held(dimension.target)) == 4
    assert dimension.run().outcome == "nothing to do"
