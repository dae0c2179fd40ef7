"""Every value of every type of SQL Server through the stages of `merge` and `scd2`, as in `test_restated_values.py`,
and every type as a key, as in `test_restated_keys.py`.

It needs a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`).
"""

from __future__ import annotations

import pytest

from conformance.conftest import Roads
from conformance.journey import ROADS_OF_SQLSERVER, Road
from conformance.test_restated_keys import keep_versions_by_each, keyed, merge_by_each
from conformance.test_restated_values import keep_all_versions, merge_all
from kit.pairs import ALL_ARE_ASKED_FOR

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("by_bulk_copy")]

HOME = [road for road in ROADS_OF_SQLSERVER if ALL_ARE_ASKED_FOR or road.source == road.target]
NO_KEYS = ("text", "ntext", "image", "xml")
"""Types that SQL Server compares with nothing."""


@pytest.mark.parametrize("road", HOME, ids=str)
def test_every_value_is_merged_over_others(road: Road, tds_roads: Roads):
    merge_all(tds_roads, road)


@pytest.mark.parametrize("road", HOME, ids=str)
def test_every_value_survives_the_changes_of_its_timeline(road: Road, tds_roads: Roads):
    keep_all_versions(tds_roads, road)


@pytest.mark.parametrize("road", HOME, ids=str)
def test_a_key_of_any_type_names_a_row(road: Road, tds_roads: Roads):
    keys = [one for one in keyed(tds_roads, road) if one.type not in NO_KEYS]
    merge_by_each(tds_roads, road, keys)
    keep_versions_by_each(tds_roads, road, keys)
