"""Cursors that an application writes in UTC, on a server in another zone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kit.mariadb import MariaDb
from tidegate.model.plan import Notice

if TYPE_CHECKING:
    from kit.copied import Copied, Copies

pytestmark = pytest.mark.postgres

KINDS = {
    "scd2": {
        "kind": "scd2",
        "business_keys": ["id"],
        "cursor_column": "changed",
        "initial_load": "full",
    },
    "incremental": {"kind": "incremental", "changes": "timestamp", "timestamp_column": "changed", "keys": ["id"]},
}


POSTGRESQL = """
CREATE TABLE people (id integer, name text, is_latest boolean, changed timestamp, PRIMARY KEY (id, changed));
INSERT INTO people SELECT n, 'name', true, now() AT TIME ZONE 'UTC' - n * interval '1 minute'
FROM generate_series(1, 5) AS n;
ALTER DATABASE the_name SET timezone = 'Etc/GMT+8'
"""
MARIADB = """
CREATE TABLE people (id integer, name varchar(20), is_latest bool, changed datetime(6), PRIMARY KEY (id, changed));
INSERT INTO people SELECT seq, 'name', 1, UTC_TIMESTAMP(6) - INTERVAL seq MINUTE FROM seq_1_to_5
"""


@pytest.fixture(scope="module")
def behind() -> Iterator[MariaDb]:
    with MariaDb("--default-time-zone=-08:00") as server:
        yield server


@pytest.fixture(params=["postgresql", pytest.param("mysql", marks=pytest.mark.mysql)])
def shop(copies: Copies, request: pytest.FixtureRequest) -> Copied:
    """The server is eight hours behind UTC: a row of a minute ago seems to come from the future."""
    if request.param == "mysql":
        copies = replace(copies, servers={**copies.servers, "mysql": request.getfixturevalue("behind")})
    found = copies(request.param, "postgresql")
    name = found.source.rsplit("/", 1)[1]
    found.in_source({"postgresql": POSTGRESQL, "mysql": MARIADB}[request.param].replace("the_name", name))
    return found


def warnings(shop: Copied, table: dict[str, object]) -> list[str]:
    plan = shop.tidegate({"people": table}).plan().tables[0]
    return [step.text for step in plan.steps if isinstance(step, Notice) and "future" in step.text]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cursor_in_utc_is_read_on_its_own_clock(shop: Copied, kind: str):
    assert warnings(shop, KINDS[kind])
    table = {**KINDS[kind], "cursor_zone": "utc"}
    assert warnings(shop, table) == []
    shop.tidegate({"people": table}).run()
    shop.assert_equal("SELECT id, name, changed FROM people")
    assert shop.tidegate({"people": table}).run().outcome == "nothing to do"


@pytest.mark.parametrize("zone", ["server", "UTC", "Europe/Berlin"])
def test_zones_have_a_name(shop: Copied, zone: str):
    found = shop.tidegate({"people": {**KINDS["scd2"], "cursor_zone": zone}}).project.tables["people"]
    assert found.cursor_zone == (None if zone == "server" else zone)  # type: ignore[attr-defined]
