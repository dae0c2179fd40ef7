"""Change feeds of PostgreSQL: logical decoding through a slot, in both modes, on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit.copied import Copied, Copies
from kit.sides import ask

pytestmark = pytest.mark.postgres

CREATE = "CREATE TABLE items (id int PRIMARY KEY, name text, price numeric(12,2), note text)"
ALL = "SELECT id, name, price, note FROM items"


def table(**settings: Any) -> dict[str, Any]:
    return {"items": {"kind": "incremental", "changes": "cdc", **settings}}


@pytest.fixture
def copied(copies: Copies) -> Iterator[Copied]:
    made = copies()
    made.in_source(CREATE)
    yield made
    ask(made.source, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")


@pytest.fixture(params=["keys", "images"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_changes_and_deletes_arrive(copied: Copied, mode: str):
    """Inserts, updates, deletes, a new key, and a transaction that is rolled back."""
    synced = copied.tidegate(table(mode=mode))
    copied.in_source("INSERT INTO items SELECT n, 'n' || n, n * 1.5, NULL FROM generate_series(1, 100) n")
    synced.create_feed()
    synced.run()
    copied.assert_equal(ALL)
    assert not synced.plan().does_something
    copied.in_source(
        "INSERT INTO items VALUES (101, 'new, \"quoted\"', 1.10, '');\n"
        "UPDATE items SET name = NULL WHERE id < 10;\n"
        "DELETE FROM items WHERE id BETWEEN 20 AND 29;\n"
        "UPDATE items SET id = 500 WHERE id = 50;\n"
        "BEGIN; INSERT INTO items VALUES (999, 'never', 0, NULL); ROLLBACK"
    )
    report = synced.run()
    assert report.exit_code == 0
    copied.assert_equal(ALL)
    assert not synced.plan().does_something
