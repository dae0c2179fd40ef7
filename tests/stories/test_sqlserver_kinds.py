"""The stories of static tables and of versions once more, with SQL Server at one end or at both.

They need a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import pytest

from conformance.servers.postgresql import Absent
from kit.project import database_on
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
    Dimension,
    test_a_late_version_is_seen_although_another_left_meanwhile,
    test_a_mark_in_the_future_hides_nothing,
    test_an_entity_that_was_closed_stays_closed,
    test_entities_that_left_are_closed_and_come_back,
    test_flags_are_recomputed_if_asked,
    test_late_and_equal_marks_inside_of_the_look_back_are_read,
    test_versions_come_and_supersede_others,
    test_versions_that_are_updated_in_place_have_a_key_of_their_own,
    test_what_is_lost_heals,
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

__all__ = [
    "server",
    "test_a_change_makes_a_version_and_a_touch_does_not",
    "test_a_file_that_comes_late_changes_nothing",
    "test_a_history_that_was_lost_is_made_again_from_the_lake",
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
    "test_what_others_refer_to_never_leaves",
    "test_what_the_target_lost_comes_back",
    "test_with_a_mark_all_keys_are_compared",
    "test_without_a_key_the_whole_table_is_replaced",
    "test_without_a_mark_the_whole_source_is_compared",
    "test_without_deletes_the_source_is_contained",
]
pytestmark = [pytest.mark.postgres, pytest.mark.spark]

PAIRS = [("sqlserver", "sqlserver"), ("sqlserver", "postgresql"), ("postgresql", "sqlserver")]
Database = Callable[[str], str]


@pytest.fixture
def database(server: Any, request: pytest.FixtureRequest):
    """A new database on the server that is named."""
    if isinstance(server, Absent):
        request.config.stash[GAPS][str(server)] += 1
        pytest.skip(str(server))

    def place(kind: str) -> AbstractContextManager[str]:
        return server.database() if kind == "sqlserver" else database_on(request.getfixturevalue("postgres"))

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
