"""Every value of every SQL Server type through `merge` and `scd2`, and every type as a key.

It repeats `test_restated_values.py` and `test_restated_keys.py`, and needs a server that speaks TDS
(`TIDEGATE_TEST_SQLSERVER`).
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
def test_every_value_survives_a_merge(road: Road, tds_roads: Roads):
    """Each value is merged over other values and nulls and arrives unchanged."""
    merge_all(tds_roads, road)


@pytest.mark.parametrize("road", HOME, ids=str)
def test_every_value_survives_version_changes(road: Road, tds_roads: Roads):
    """Each value arrives unchanged while versions are inserted, changed, closed and reopened."""
    keep_all_versions(tds_roads, road)


@pytest.mark.parametrize("road", HOME, ids=str)
def test_key_can_have_any_type(road: Road, tds_roads: Roads):
    """A merge and a load of versions work with a key of any type that SQL Server can compare."""
    keys = [one for one in keyed(tds_roads, road) if one.type not in NO_KEYS]
    merge_by_each(tds_roads, road, keys)
    keep_versions_by_each(tds_roads, road, keys)
