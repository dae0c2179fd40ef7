"""Random values of each PostgreSQL type are copied and compared by a plain driver."""

from __future__ import annotations

import json
from datetime import UTC

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.conftest import Pair, public
from conformance.servers.postgresql import ENDS, STRINGS
from kit.copies import Copier
from kit.witness import differences
from tidegate.interfaces import BatchSize
from tidegate.model.names import TableName

pytestmark = pytest.mark.postgres

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
TEXT = st.text(CHARACTERS, max_size=40) | st.sampled_from([*STRINGS, *ENDS]) | st.text('\\."\n\r,N', max_size=8)
NUMBERS = st.integers(-(10**37), 10**37)
SECONDS = st.integers(-(10**15), 10**15)
DOCUMENT = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.text(CHARACTERS, max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(CHARACTERS, max_size=3), inner, max_size=3),
    max_leaves=5,
)


def scaled(digits: int, scale: int) -> st.SearchStrategy[str]:
    most = 10**digits - 1
    return st.integers(-most, most).map(lambda number: f"{number}e-{scale}") | st.just("NaN")


def array_of(values: list[str | None]) -> str:
    """An array's text: every element in quotes, so that none of them is taken for a null or a brace."""
    quoted = (
        '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if value is not None else "NULL" for value in values
    )
    return "{" + ",".join(quoted) + "}"


VALUES: dict[str, st.SearchStrategy[str]] = {
    "smallint": st.integers(-(2**15), 2**15 - 1).map(str),
    "integer": st.integers(-(2**31), 2**31 - 1).map(str),
    "bigint": st.integers(-(2**63), 2**63 - 1).map(str),
    "boolean": st.booleans().map(str),
    "real": st.floats(width=32).map(repr),
    "double precision": st.floats().map(repr),
    "numeric(38,0)": scaled(38, 0),
    "numeric(38,19)": scaled(38, 19),
    "numeric(38,38)": scaled(38, 38),
    "numeric": st.tuples(NUMBERS, st.integers(-40, 40)).map(lambda parts: f"{parts[0]}e{parts[1]}") | st.just("NaN"),
    "money": st.integers(-(2**63), 2**63 - 1).map(
        lambda cents: f"{cents // 100}.{cents % 100:02}" if cents >= 0 else "0"
    ),
    "text": TEXT,
    "character varying(40)": TEXT,
    "character(40)": TEXT,
    "bytea": st.binary(max_size=60).map(lambda found: f"\\x{found.hex()}"),
    "uuid": st.uuids().map(str),
    "date": st.dates().map(str) | st.sampled_from(["infinity", "-infinity", "0044-03-15 BC", "12024-01-01"]),
    "time without time zone": st.times().map(str) | st.just("24:00:00"),
    "timestamp without time zone": st.datetimes().map(str) | st.sampled_from(["infinity", "0044-03-15 BC"]),
    "timestamp with time zone": st.datetimes(timezones=st.just(UTC)).map(str),
    "interval": st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), SECONDS).map(
        lambda parts: f"{parts[0]} mons {parts[1]} days {parts[2]} microseconds"
    ),
    "bit varying": st.text("01", max_size=70),
    "json": DOCUMENT.map(json.dumps),
    "jsonb": DOCUMENT.map(lambda found: json.dumps(found).replace("\\u0000", "")),
    "text[]": st.lists(st.none() | TEXT, max_size=4).map(array_of),
    "int8range": st.tuples(st.integers(-(2**62), 0), st.integers(0, 2**62)).map(lambda ends: f"[{ends[0]},{ends[1]}]"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_random_values_of_a_type_survive(kind: str, pair: Pair, copier: Copier):
    """Random values of one type arrive unchanged with any batch size."""
    table, columns = pair.name(), {"x": kind}
    pair.source.create(public(table), columns)
    pair.target.create(public(table), columns)

    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(st.none() | VALUES[kind], min_size=1, max_size=25), st.integers(1, 30))
    def moves(values: list[str | None], rows: int) -> None:
        pair.source.do(f"TRUNCATE {table}")
        pair.target.do(f"TRUNCATE {table}")
        pair.source.insert(public(table), columns, [[value] for value in values])

        copier.copy(TableName("public", table), BatchSize(rows=rows))

        assert differences(pair.source, pair.target, public(table), columns) == []

    moves()
