"""Columns of every type as what names a row: the key of a merge, the business key and the mark of versions.

A stage finds its rows by their key. What the server calls equal there must be what is the same, or else the wrong row
is changed; a type that cannot be a mark is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing

import pytest

from conformance.conftest import Roads
from conformance.journey import FROM, ROADS, Given, Road, Traveller, columns_of
from conformance.restated import Restated, Rounds
from kit.loads import Loads
from kit.pairs import ALL_ARE_ASKED_FOR
from tidegate.model.names import counted

pytestmark = pytest.mark.postgres

HOME = [road for road in ROADS if ALL_ARE_ASKED_FOR or road.source == road.target]


Row = tuple[Given, ...]


def keyed(roads: Roads, road: Road) -> list[Traveller]:
    """One of each type, with values that its server does not take for the same. In everyday runs sizes and character
    sets do not make another type."""
    by_type: dict[str, Traveller] = {}
    for family in FROM[road.source][0]:
        for one in roads.travellers(road, family):
            distinct = {_as_stored(one.type, value): value for value in one.kept if value is not None}
            name = one.type if ALL_ARE_ASKED_FOR else _BEGINNING.sub("", one.type)
            by_type.setdefault(name, Traveller(one.type, one.form, tuple(distinct.values())))
    return list(by_type.values())


_BEGINNING = re.compile(r"\(.*?\)| CHARACTER SET .*")


def _as_stored(kind: str, value: Given) -> Given:
    """Without what fills it up."""
    if kind.startswith(("char(", "character(")) and isinstance(value, str):
        return value.rstrip(" ")
    return value.rstrip(b"\0") if kind.startswith("binary(") and isinstance(value, bytes) else value


def key_of(table: Restated) -> str:
    return next(iter(columns_of(table.travellers)))


# Keys


def merged_turns(values: Sequence[Given]) -> list[list[Row]]:
    """The last row is missing at first; then it comes, the first one leaves, and all others change."""
    turns = [[("1", str(key), str(turn + key), value) for key, value in enumerate(values)] for turn in (0, 100)]
    return [turns[0][:-1], turns[1][1:]] if len(values) > 1 else turns


@pytest.mark.parametrize("road", HOME, ids=str)
def test_a_row_is_merged_by_a_key_of_any_type(road: Road, roads: Roads):
    tables = [Restated([one], {}, {"note": "int"}) for one in keyed(roads, road)]
    journey = Rounds(*roads.ends(road), roads.lake(), tables)

    with closing(Loads(journey.source.url, journey.target.url, [table.name for table in tables])) as loads:
        for turn in zip(*(merged_turns(table.travellers[0].kept) for table in tables), strict=True):
            journey.write(turn)
            did = [loads.merge(table.name, key_of(table)).detail for table in tables]

    several = [len(table.travellers[0].kept) for table in tables]
    assert did == [
        f"1 inserted, {many - 2} updated, 1 deleted" if many > 1 else "0 inserted, 1 updated, 0 deleted"
        for many in several
    ]
    assert journey.unlike() == []


def version_turns(values: Sequence[Given]) -> list[list[Row]]:
    """Every entity gets a second version: the first one is closed, and of every other entity changed, too. The first
    entity has two versions at its first mark, which are written anew."""
    first, second = [("1", "999", "7", "0", values[0])], [("1", "999", "7", "0", values[0])]
    for key, value in enumerate(values):
        first.append(("1", str(key), str(key), "1", value))
        changed = key + 100 * (key % 2)
        second += [("1", str(key), str(changed), "0", value), ("2", str(500 + key), str(key), "1", value)]
    return [first, second]


@pytest.mark.parametrize("road", HOME, ids=str)
def test_versions_are_kept_by_a_business_key_of_any_type(road: Road, roads: Roads):
    source, target = roads.ends(road)
    own = {"note": "int", "holds": source.truth}
    tables = [Restated([one], {}, own) for one in keyed(roads, road)]
    journey = Rounds(source, target, roads.lake(), tables)

    with closing(Loads(source.url, target.url, [table.name for table in tables])) as loads:
        for turn in zip(*(version_turns(table.travellers[0].kept) for table in tables), strict=True):
            journey.write(turn)
            did = [loads.versions(table.name, key_of(table), "cobid", "holds").detail for table in tables]

    several = [len(table.travellers[0].kept) for table in tables]
    assert did == [
        f"{counted(many, 'version')} inserted, {many // 2} changed, {(many - 1) - many // 2} superseded"
        for many in several
    ]
    assert journey.unlike() == []
