"""`pre_check`: a static table whose rows are not read again while nobody wrote to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from kit.pairs import first_daily
from tidegate.changes.content_hash import inspect
from tidegate.changes.content_hash.plan import TRUSTED

if TYPE_CHECKING:
    from kit.copied import Copied, Copies
    from tidegate import Tidegate

CREATE = "CREATE TABLE codes (code integer PRIMARY KEY, name varchar(20), modified_at timestamp)"
FILL = "INSERT INTO codes VALUES (1, 'one', '2024-01-01 00:00:00'), (2, 'two', '2024-01-02 00:00:00')"
ALL = "SELECT code, name FROM codes"


@pytest.fixture(params=[0, inspect.LIGHT_ROWS], ids=["large", "small"])
def light_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of two rows counts as large, so that its rows are read inside of tasks; or as small."""
    monkeypatch.setattr(inspect, "LIGHT_ROWS", request.param)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The places in planning at which the rows of the source were read."""
    found: list[str] = []
    original = inspect._source

    def counted(*arguments: Any) -> Any:
        found.append("source")
        return original(*arguments)

    monkeypatch.setattr(inspect, "_source", counted)
    return found


def is_trusted(synced: Tidegate) -> bool:
    return TRUSTED in str(synced.plan())


def codes(copied: Copied, pre_check: str) -> Tidegate:
    return copied.tidegate({"codes": {"kind": "static", "pre_check": pre_check, "allow_deletes": True}})


def settle(source: str) -> None:
    """PostgreSQL's session hands its counts over when it ends; MySQL tells seconds, and trusts none of the last two."""
    time.sleep(3.2 if source == "mysql" else 0.2)


@pytest.mark.parametrize("source", first_daily("postgresql", "mysql"))
@pytest.mark.usefixtures("light_rows")
def test_unchanged_table_is_not_read(copies: Copies, source: str):
    copied = copies(source, "postgresql")
    copied.in_source(CREATE)
    copied.in_source(FILL)
    settle(source)
    with codes(copied, "server") as synced:
        synced.run()
        assert is_trusted(synced)
        copied.in_source("UPDATE codes SET name = 'changed' WHERE code = 1")
        settle(source)
        assert not is_trusted(synced)
        synced.run()
        copied.assert_equal(ALL)
        assert is_trusted(synced)


@pytest.mark.usefixtures("light_rows")
def test_equal_rows_are_remembered(copies: Copies):
    """A change that was taken back: the rows are read once more, and not again."""
    copied = copies()
    copied.in_source(CREATE)
    copied.in_source(FILL)
    with codes(copied, "server") as synced:
        synced.run()
        copied.in_source("UPDATE codes SET name = 'changed' WHERE code = 1")
        copied.in_source("UPDATE codes SET name = 'one' WHERE code = 1")
        settle("postgresql")
        assert not is_trusted(synced)
        synced.run()
        assert is_trusted(synced)


def test_rows_are_not_read_while_planning(copies: Copies, reads: list[str]):
    copied = copies()
    copied.in_source(CREATE)
    copied.in_source(FILL)
    with codes(copied, "server") as synced:
        synced.run()
        reads.clear()
        synced.plan()
        assert reads == []
        copied.in_source("TRUNCATE TABLE codes")
        settle("postgresql")
        synced.plan()
        assert reads == ["source"]


def test_lost_rows_of_the_target_come_back(copies: Copies):
    copied = copies()
    copied.in_source(CREATE)
    copied.in_source(FILL)
    with codes(copied, "server") as synced:
        synced.run()
        copied.in_target("DELETE FROM codes WHERE code = 1")
        synced.run()
        copied.assert_equal(ALL)


@pytest.mark.parametrize("source", ["postgresql", "mysql"])
def test_column_tells_the_last_change(copies: Copies, source: str):
    copied = copies(source, "postgresql")
    copied.in_source(CREATE)
    copied.in_source(FILL)
    with codes(copied, "modified_at") as synced:
        synced.run()
        assert is_trusted(synced)
        copied.in_source("UPDATE codes SET name = 'changed', modified_at = '2024-01-03 00:00:00' WHERE code = 1")
        synced.run()
        copied.assert_equal(ALL)
        copied.in_source("DELETE FROM codes WHERE code = 2")
        synced.run()
        copied.assert_equal(ALL)
        copied.in_source("UPDATE codes SET name = 'unseen' WHERE code = 1")
        assert is_trusted(synced)  # the column did not tell: that is what was asked for
        assert synced.verify().outcome != "equal"


def test_another_condition_is_read(copies: Copies):
    """The table did not change, but other rows of it are copied: a reload asks anew, and remembers the answer."""
    copied = copies()
    copied.in_source(CREATE)
    copied.in_source(FILL)
    settings = {"kind": "static", "pre_check": "server", "allow_deletes": True}
    with copied.tidegate({"codes": {**settings, "where": "code > 1"}}) as synced:
        synced.run()
        assert is_trusted(synced)
    with copied.tidegate({"codes": {**settings, "where": "code < 2"}}) as synced:
        assert not is_trusted(synced)
        synced.run(reload=True)
        assert copied.rows("target", ALL) == {(1, "one"): 1}
        assert is_trusted(synced)


def test_partitions_and_views(copies: Copies):
    """The counts of a partitioned table are those of its partitions. Of a view nobody counts anything."""
    copied = copies()
    copied.in_source("CREATE TABLE parted (code integer PRIMARY KEY, name varchar(20)) PARTITION BY RANGE (code)")
    copied.in_source("CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10)")
    copied.in_source("CREATE VIEW seen AS SELECT * FROM parted")
    copied.in_source("INSERT INTO parted VALUES (1, 'one')")
    settings = {"kind": "static", "pre_check": "server", "primary_keys": ["code"]}
    with copied.tidegate({"parted": settings}) as synced:
        synced.run()
        assert is_trusted(synced)
        copied.in_source("UPDATE parted SET name = 'changed'")
        settle("postgresql")
        assert not is_trusted(synced)
    with copied.tidegate({"seen": settings}) as synced:
        synced.run()
        assert not is_trusted(synced)
