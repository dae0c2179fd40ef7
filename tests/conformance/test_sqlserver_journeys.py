"""Every value of every type between SQL Server and all databases, as in `test_journeys.py`.

It needs a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest

from conformance.conftest import Roads
from conformance.journey import FROM, ROADS_OF_SQLSERVER, Road

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("by_bulk_copy")]

WAYS = [(road, family) for road in ROADS_OF_SQLSERVER for family in FROM[road.source][0]]


@pytest.mark.parametrize(("road", "family"), WAYS, ids=lambda part: str(part))
def test_every_value_arrives_or_is_refused(road: Road, family: str, tds_roads: Roads, gaps: Callable[[str], NoReturn]):
    """Each value of each type arrives unchanged or is refused with its column's name."""
    if not tds_roads.travellers(road, family):
        gaps(f"{family}: none of its types is on the server that {road} begins at")

    if family == "choices beyond the first plane" and tds_roads.sqlserver.is_compatible:
        gaps("choices: a compatible server does not find a column by a quoted name with a backslash and quotes in it")

    outcomes = tds_roads.happened(road, family)

    assert {outcome.type: outcome.wrong for outcome in outcomes if outcome.wrong} == {}
