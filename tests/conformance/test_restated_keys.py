"""Columns of every type as a key: primary key of a merge, business key of versions, and cursor.

A load matches staged rows by their key. If the server treats different keys as equal, the wrong row is changed. A type
that cannot be a cursor is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing

import pytest

from conformance.conftest import Roads
from conformance.journey import FROM, ROADS, Given, Road, Side, Traveller, columns_of
from conformance.restated import Restated, Rounds
from kit.loads import Loads
from kit.pairs import ALL_ARE_ASKED_FOR
from tidegate.model.names import pluralize

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
    if kind.startswith(("char(", "nchar(", "character(")) and isinstance(value, str):
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
def test_merge_works_with_a_key_of_any_type(road: Road, roads: Roads):
    """A merge inserts, updates and deletes the right rows with a key of any type."""
    merge_by_each(roads, road, keyed(roads, road))


def merge_by_each(roads: Roads, road: Road, keys: Sequence[Traveller]) -> None:
    tables = [Restated([one], {}, {"note": "int"}) for one in keys]
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
    entity has two versions at its first cursor, which are written anew."""
    first, second = [("1", "999", "7", "0", values[0])], [("1", "999", "7", "0", values[0])]
    for key, value in enumerate(values):
        first.append(("1", str(key), str(key), "1", value))
        changed = key + 100 * (key % 2)
        second += [("1", str(key), str(changed), "0", value), ("2", str(500 + key), str(key), "1", value)]
    return [first, second]


@pytest.mark.parametrize("road", HOME, ids=str)
def test_business_key_can_have_any_type(road: Road, roads: Roads):
    """Versions are inserted, changed and closed correctly with a business key of any type."""
    keep_versions_by_each(roads, road, keyed(roads, road))


def keep_versions_by_each(roads: Roads, road: Road, keys: Sequence[Traveller]) -> None:
    source, target = roads.ends(road)
    own = {"note": "int", "holds": source.truth}
    tables = [Restated([one], {}, own) for one in keys]
    journey = Rounds(source, target, roads.lake(), tables)

    with closing(Loads(source.url, target.url, [table.name for table in tables])) as loads:
        for turn in zip(*(version_turns(table.travellers[0].kept) for table in tables), strict=True):
            journey.write(turn)
            did = [loads.versions(table.name, key_of(table), "cobid", "holds").detail for table in tables]

    several = [len(table.travellers[0].kept) for table in tables]
    assert did == [
        f"{pluralize(many, 'version')} inserted, {many // 2} changed, {(many - 1) - many // 2} superseded"
        for many in several
    ]
    assert journey.unlike() == []


# Cursors

MARKS: dict[str, dict[str, tuple[str, ...]]] = {
    "postgresql": {
        "bigint": ("-9223372036854775808", "9", "10", "9007199254740993", "9223372036854775807"),
        "numeric(38,10)": ("-10.5", "-9", "0", "0.0000000001", "9", "10", "9999999999999999999999999999.9999999999"),
        "numeric": ("-1e40", "-10", "-9.5", "-9", "-1e-40", "0", "1e-40", "9", "9.01", "10", "1e20", "2e40"),
        "date": ("-infinity", "4713-01-01 BC", "0001-12-31 BC", "0001-01-01", "9999-12-31", "10000-01-01", "infinity"),
        "timestamp without time zone": (
            *("-infinity", "4713-01-01 00:00:00 BC", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00"),
            *("1970-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999", "294276-12-31 23:59:59.999999", "infinity"),
        ),
        "timestamp with time zone": (
            *("4713-01-01 00:00:00+00 BC", "2024-11-03 05:30:00+00", "2024-11-03 06:30:00.5+00"),
            *("10000-01-01 00:00:00+00", "infinity"),
        ),
    },
    "mysql": {
        "bigint unsigned": ("0", "9", "10", "9223372036854775808", "18446744073709551615"),
        "decimal(38,30)": ("-10.5", "-9", "0", "9", "9.000000000000000000000000000001", "10"),
        "decimal(65,30)": ("-1000", "-999.5", "-9", "0", "9", "9.000000000000000000000000000001", "10", "1e34"),
        "date": ("0001-01-01", "1582-10-10", "1969-12-31", "9999-12-31"),
        "datetime(6)": ("0001-01-01 00:00:00.000001", "2024-01-31 10:00:00", "2024-01-31 10:00:00.000001"),
        "timestamp(6) NULL": ("1970-01-01 05:45:00.000001", "2024-01-31 10:00:00", "2038-01-19 08:59:07.999999"),
        "year": ("0", "1901", "2024", "2155"),
    },
}
"""Marks in their order, of types that have one."""
UNORDERED = {
    "postgresql": (
        *("real", "double precision", "money", "boolean", "text", "character(3)", "uuid", "bytea", "bit(9)"),
        *("time without time zone", "time with time zone", "interval", "json", "jsonb", "integer[]", "int4range"),
        *("inet", "point", "public.mood", "public.short", "public.pair"),
    ),
    "mysql": (
        *("float", "double", "bit(9)", "varchar(20)", "char(3)", "text", "varbinary(20)", "blob", "time(6)", "json"),
        *("enum('a','b')", "set('a','b')", "point"),
    ),
}
"""Types whose values have no order, or none that both ends would agree on."""
NO_MARKS = {
    "postgresql": {"numeric(18,2)": "NaN", "numeric": "NaN"},
    "mysql": {"date": "2024-02-31", "datetime": "0000-00-00 00:00:00"},
}
"""Values that have no place in the order of their type."""


def by_mark(kind: str, source: Side) -> Restated:
    one = Traveller(kind, "text", ())
    settings = {
        "kind": "scd2",
        "business_keys": ["cobid"],
        "cursor_column": next(iter(columns_of([one]))),
        "flag_column": "holds",
        "flags": "recompute",
        "initial_load": "full",
    }
    return Restated([one], settings, {"holds": source.truth})


def holding(journey: Rounds) -> list[list[object]]:
    """The versions of each table that the target says of that they hold."""
    said = (journey.target.values(table.name, "holds", "truth") for table in journey.tables)
    return [[key for key, flag in flags.items() if flag == "1"] for flags in said]


@pytest.mark.parametrize("road", HOME, ids=str)
def test_version_with_the_greatest_cursor_is_current(road: Road, roads: Roads):
    """The greatest cursor by value wins, not by text: 10 is greater than 9, and the year 10000 greater than 2024."""
    source, target = roads.ends(road)
    cursors = [values for values in MARKS[road.source].values() if not _has_no_room(values, road)]
    tables = [by_mark(kind, source) for kind, values in MARKS[road.source].items() if values in cursors]
    journey = Rounds(source, target, roads.lake(), tables)

    for last in (1, 0):
        journey.write(
            [
                [("1", str(key), "0", cursor) for key, cursor in enumerate(values[: len(values) - last])]
                for values in cursors
            ]
        )
        journey.run()
        assert holding(journey) == [[len(values) - 1 - last] for values in cursors]

    assert journey.restless() == []


def _has_no_room(values: Sequence[str], road: Road) -> bool:
    """MySQL's days end with the year 9999."""
    return road.target == "mysql" and any("infinity" in value or " BC" in value for value in values)


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_unordered_type_is_refused_as_a_cursor(kind: str, roads: Roads):
    """A column whose type has no reliable order is refused as a cursor, with its name and type."""
    source, target = roads.ends(Road(kind, kind))
    tables = [by_mark(one, source) for one in UNORDERED[kind]]
    journey = Rounds(source, target, roads.lake(), tables)

    said = dict(journey.tidegate.plan().failures)

    for table in tables:
        cursor = table.settings["cursor_column"]
        assert re.match(f"{table.name}: {re.escape(cursor)} is .*, which cannot be a cursor\\.\n", said[table.name])


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_invalid_cursor_value_fails_only_its_table(kind: str, roads: Roads):
    """A cursor value without a place in the order, such as NaN, fails its table. Other tables are loaded."""
    source, target = roads.ends(Road(kind, kind))
    tables = [by_mark(one, source) for one in (*NO_MARKS[kind], "bigint")]
    journey = Rounds(source, target, roads.lake(), tables)
    journey.write([[("1", "1", "0", cursor)] for cursor in (*NO_MARKS[kind].values(), "1")])

    *refused, other = journey.run()

    for table, cursor, said in zip(tables, NO_MARKS[kind].values(), refused, strict=False):
        assert f"has rows whose {table.settings['cursor_column']} cannot be a cursor: '{cursor}' is " in said
    assert other.endswith("1 version inserted, 0 changed, 0 superseded")
