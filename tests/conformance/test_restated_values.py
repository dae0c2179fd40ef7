"""Every value of every type through the loads that change single rows: `merge` and `scd2`.

A partition load inserts rows, these two update them. A value that is updated from a staging table, over any other value
or over a null, must equal an inserted one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conformance.conftest import Roads
from conformance.journey import FROM, ROADS, Road, Traveller
from conformance.restated import Cells, Restated, Rounds, cells, plain
from kit.pairs import ALL_ARE_ASKED_FOR

pytestmark = pytest.mark.postgres

HOME = [road for road in ROADS if ALL_ARE_ASKED_FOR or road.source == road.target]
"""In everyday runs from each kind of database to itself."""
ODD = ("decimals", "days and clocks", "moments")
"""Families with values that Arrow has no room for: a table is read once more for each such column."""
LONG = ("bytes", "the longest string")
"""Families whose values are so long that they do not share a table with all others."""
MANY = 12


def caravans(roads: Roads, road: Road) -> list[list[Traveller]]:
    """Who travels in one table."""
    families = FROM[road.source][0]
    calm = [family for family in families if family not in (*ODD, *LONG)]
    tables = [calm, [family for family in families if family in ODD], *([one] for one in LONG if one in families)]
    return [
        [part for family in some for one in roads.travellers(road, family) for part in side_by_side(one)]
        for some in tables
    ]


def side_by_side(one: Traveller) -> list[Traveller]:
    """The same values in several columns, a plain one first in each: a table of few rows is soon written anew."""
    plain_one, others = one.kept[0], one.kept[1:]
    parts = [others[start : start + MANY] for start in range(0, len(others), MANY)] or [()]
    return [replace(one, kept=(plain_one, *part)) for part in parts]


# Merged


def merged_rounds(travellers: Sequence[Traveller]) -> list[dict[int, Cells]]:
    """By their key: plain values, all values, those of the next row, and plain ones again."""
    many = max(len(one.kept) for one in travellers)
    return [
        {key: plain(travellers) for key in range(many)},
        {key: cells(travellers, key) for key in range(many)},
        # The first row leaves, and a new one comes.
        {key: cells(travellers, key + 1) for key in range(1, many + 1)},
        {key: plain(travellers) for key in range(1, many + 1)},
    ]


def counts(before: dict[int, Cells], now: dict[int, Cells]) -> str:
    changed = sum(before[key] != row for key, row in now.items() if key in before)
    return f"{len(now.keys() - before):,} inserted, {changed:,} updated, {len(before.keys() - now):,} deleted"


@pytest.mark.parametrize("road", HOME, ids=str)
def test_every_value_survives_a_merge(road: Road, roads: Roads):
    """Each value is merged over other values and nulls and arrives unchanged."""
    merge_all(roads, road)


def merge_all(roads: Roads, road: Road) -> None:
    settings = {"kind": "static", "primary_keys": ["id"], "allow_deletes": True}
    tables = [Restated(travellers, settings) for travellers in caravans(roads, road)]
    journey = Rounds(*roads.ends(road), roads.lake(), tables)
    before: list[dict[int, Cells]] = [{} for _ in tables]

    for now in zip(*(merged_rounds(table.travellers) for table in tables), strict=True):
        journey.write([[("1", str(key), *row) for key, row in one.items()] for one in now])
        did = journey.run()

        assert [one.rpartition("; ")[2] for one in did] == list(map(counts, before, now))
        assert journey.unlike() == []
        before = list(now)

    assert journey.restless() == []


# Versions

Version = tuple[int, int, int, int, Cells]
"""Its cursor, its number, its entity, whether it holds, and its values."""


def version_rounds(travellers: Sequence[Traveller]) -> list[list[Version]]:
    """Return the versions of each round. Each value has an entity with one version per cursor, and an entity with two
    versions at its first cursor. Such twins have no key of their own: when one changes, the load rewrites both."""
    many = max(len(one.kept) for one in travellers)
    calm = plain(travellers)

    def value(place: int) -> Cells:
        return cells(travellers, place)

    rounds: list[list[Version]] = [[], [], [], []]
    for key in range(many):
        alone, twins, number = 2 * key, 2 * key + 1, 10 * key
        odd = key % 2
        first = [(1, number + 1, twins, 0, value(key)), (1, number + 2, twins, 1, value(key + 1))]
        rounds[0] += [(1, number, alone, 1, value(key)), *first]
        # Changed in place and closed; one of two twins closed, and of every other pair the other one changed.
        closed = [
            (1, number, alone, 0, value(key + 1)),
            (1, number + 1, twins, 0, value(key + 3 * odd)),
            (1, number + 2, twins, 0, value(key + 1)),
        ]
        second = (2, number + 4, twins, 0, value(key + 2))
        rounds[1] += [*closed, (2, number + 3, alone, odd, value(key)), (*second[:3], 1, second[4])]
        # Reopened or closed, with nothing else changed.
        third = (3, number + 5, twins, 1, calm)
        rounds[2] += [*closed, (2, number + 3, alone, 1 - odd, value(key)), second, third]
        # What is read from now on is plain, what the timelines hold is not.
        rounds[3] += [*closed, (2, number + 3, alone, 0, value(key)), second, third, (4, number + 6, alone, 1, calm)]
    return rounds


def told(travellers: Sequence[Traveller]) -> list[str]:
    """What each round does to the timelines."""
    many = max(len(one.kept) for one in travellers)
    odd, even = many // 2, many - many // 2
    anew = sum(cells(travellers, key) != cells(travellers, key + 3) for key in range(1, many, 2))
    return [
        f"{3 * many} versions inserted, 0 changed, 0 superseded",
        f"{2 * many + anew} versions inserted, {many} changed, 0 superseded" + (f", {anew} removed" if anew else ""),
        f"{many} versions inserted, 0 changed, {many + odd} superseded, {even} reopened",
        f"{many} versions inserted, 0 changed, {even} superseded",
    ]


@pytest.mark.parametrize("road", HOME, ids=str)
def test_every_value_survives_version_changes(road: Road, roads: Roads):
    """Each value arrives unchanged while versions are inserted, changed, closed and reopened."""
    keep_all_versions(roads, road)


def keep_all_versions(roads: Roads, road: Road) -> None:
    source, target = roads.ends(road)
    own = {"entity": "int", "holds": source.truth}
    settings = {"kind": "scd2", "business_keys": ["entity"], "cursor_column": "cobid", "flag_column": "holds"}
    tables = [Restated(travellers, settings, own) for travellers in caravans(roads, road)]
    journey = Rounds(source, target, roads.lake(), tables)

    expected = zip(*(told(table.travellers) for table in tables), strict=True)

    for now in zip(*(version_rounds(table.travellers) for table in tables), strict=True):
        journey.write([[(*map(str, row[:4]), *row[4]) for row in rows] for rows in now])

        assert tuple(one.rpartition("; ")[2] for one in journey.run()) == next(expected)
        assert journey.unlike() == []

    assert journey.restless() == []
