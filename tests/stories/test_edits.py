"""Rows that testers changed in the target while the ledger was lost: nobody can tell who changed them, so they are
reported and stay, in every kind of table. What the target lost is healed, and `repair` restores what the source has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.one_process import OneProcess
from kit.project import database_on
from tidegate import Tidegate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = pytest.mark.postgres

CREATE = """
CREATE TABLE items (
    id int{key}, day int NOT NULL, name varchar(40), latest boolean NOT NULL, changed timestamp(6) NOT NULL
);
CREATE INDEX ON items (day);
CREATE INDEX ON items (changed);
INSERT INTO items
    SELECT id, 20240101 + id % 2, 'tea', true, timestamp '2024-01-31' + id * interval '1 minute'
    FROM generate_series(1, 20) AS id
"""
EMPTY = "DROP SCHEMA IF EXISTS public, tidegate CASCADE; CREATE SCHEMA public"
INCREMENTAL = {"kind": "incremental", "timestamp_column": "changed", "id_column": "id"}
KINDS: dict[str, dict[str, Any]] = {
    "partition": {"kind": "partition", "partition_column": "day"},
    "static": {"kind": "static"},
    "static, exact": {"kind": "static", "allow_deletes": True},
    "static, replaced": {"kind": "static", "load": "replace"},
    "versions": {
        "kind": "scd2",
        "business_keys": ["id"],
        "cursor_column": "changed",
        "flag_column": "latest",
        "initial_load": "full",
    },
    "merged": INCREMENTAL,
    "merged by keys": {**INCREMENTAL, "deletes": "key_compare"},
    "appended": {**INCREMENTAL, "load": "append"},
    "replaced": {**INCREMENTAL, "load": "replace"},
    "full": {"kind": "incremental", "changes": "full"},
}


class Desk:
    """A source with twenty items, a lake and a target."""

    def __init__(self, source: str, target: str, lake: Path, settings: dict[str, Any]) -> None:
        self.source, self.target, self.lake, self.settings = source, target, lake, settings
        self.spark: object = OneProcess()

    def tidegate(self) -> Tidegate:
        places = {"source": self.source, "target": self.target, "lake": str(self.lake)}
        return Tidegate(**places, tables={"items": self.settings}, spark=self.spark)  # type: ignore[arg-type]

    def run(self) -> RunReport:
        return self.tidegate().run()

    def rows(self, url: str) -> list[Any]:
        return sides.ask(url, "SELECT id, name, latest, changed FROM items ORDER BY id, changed")

    def names(self) -> dict[int, str]:
        return dict(sides.ask(self.target, "SELECT id, name FROM items"))

    def change_the_source(self) -> None:
        """Bring a new version, a new row, or change a row: what this kind of table is made for."""
        match self.settings:
            case {"kind": "partition"}:
                sides.do(self.source, "DELETE FROM items WHERE id = 8")
            case {"kind": "scd2"}:
                sides.do(self.source, "UPDATE items SET latest = false WHERE id = 8")
                sides.do(self.source, "INSERT INTO items VALUES (8, 20240101, 'coffee', true, timestamp '2024-02-01')")
            case {"load": "append"}:
                sides.do(self.source, "INSERT INTO items VALUES (21, 20240101, 'coffee', true, timestamp '2024-02-01')")
            case _:
                changed = "UPDATE items SET name = 'coffee', changed = timestamp '2024-02-01' WHERE id = 8"
                sides.do(self.source, changed)

    def assert_in_step(self) -> None:
        assert self.rows(self.target) == self.rows(self.source)
        assert self.tidegate().verify().outcome == "equal"
        if self.settings.get("changes") != "full":  # which reads the table in every run
            assert not self.tidegate().plan().does_something


@pytest.fixture(scope="module")
def urls(postgres: EmbeddedPostgres) -> Iterator[tuple[str, str]]:
    with database_on(postgres) as source, database_on(postgres) as target:
        yield source, target


@pytest.fixture(params=KINDS)
def desk(request: pytest.FixtureRequest, urls: tuple[str, str], tmp_path: Path) -> Desk:
    source, target = urls
    for url in urls:
        sides.do(url, EMPTY)
    settings = dict(KINDS[request.param])
    sides.do(source, CREATE.format(key="" if settings["kind"] == "scd2" else " PRIMARY KEY"))
    return Desk(source, target, tmp_path / "lake", settings)


def test_edits_stay_when_the_ledger_is_lost(desk: Desk):
    """A row was changed and the ledger lost. The run says so and keeps the row; `verify` finds it; `repair` heals."""
    desk.run()
    sides.do(desk.target, "UPDATE items SET name = 'a tester' WHERE id = 7")
    sides.forget_loads(desk.target)

    report = desk.run()

    assert desk.names()[7] == "a tester"
    if desk.settings.get("load") == "append":
        assert report.findings == (), "an append changes no row that is there"
    else:
        [finding] = report.findings
        assert finding.severity == "warning"
        assert "no ledger tells who changed them: they stay" in finding.what
        assert desk.run().rows_loaded == 0
    assert desk.names()[7] == "a tester"
    assert desk.tidegate().verify().exit_code == 3
    desk.tidegate().repair()
    if desk.settings.get("load") != "append":
        desk.run()  # which tells the ledger of older entries
        desk.assert_in_step()


@pytest.mark.parametrize("desk", ["merged"], indirect=True)
def test_edits_stay_when_the_ledger_lacks_an_older_window(desk: Desk):
    """The ledger lost the row of the first of two windows. Its rows are not loaded over those of the tester."""
    desk.run()
    desk.change_the_source()
    desk.run()
    sides.do(desk.target, "UPDATE items SET name = 'a tester' WHERE id = 7")
    oldest = "SELECT min(value_text) FROM tidegate.ledger"
    sides.do(desk.target, f"DELETE FROM tidegate.ledger WHERE value_text = ({oldest})")  # noqa: S608 - our own words

    [finding] = desk.run().findings

    assert "id = 7), and no ledger tells who changed them: they stay" in finding.what
    assert desk.names()[7] == "a tester"
    desk.tidegate().repair()
    desk.run()
    desk.assert_in_step()


@pytest.mark.spark
@pytest.mark.parametrize("desk", ["merged"], indirect=True)
def test_edits_are_found_by_tasks_of_spark(desk: Desk, spark: SparkSession, monkeypatch: pytest.MonkeyPatch):
    """The rows of both sides meet in several buckets, and the examples of all buckets are named."""
    monkeypatch.setattr("tidegate.buckets.assign.ROWS_PER_BUCKET", 8)
    desk.spark = spark
    desk.run()
    sides.do(desk.target, "UPDATE items SET name = 'a tester' WHERE id IN (7, 11, 13, 17)")
    sides.forget_loads(desk.target)
    [finding] = desk.run().findings
    assert "holds 4 rows that differ from the lake's (id = 11; 13; 17; ...)" in finding.what
    assert desk.names()[7] == "a tester"


@pytest.mark.thorough
def test_lost_rows_heal_when_the_ledger_is_lost(desk: Desk):
    """The target lost its ledger and rows: the rows come back, and nothing is to be reported."""
    desk.run()
    sides.do(desk.target, "DELETE FROM items WHERE id = 7")
    sides.forget_loads(desk.target)
    assert desk.run().findings == ()
    desk.assert_in_step()


@pytest.mark.thorough
def test_new_rows_of_the_source_come_when_the_ledger_is_lost(desk: Desk):
    """All rows of the target are as Tidegate loaded them: what changed in the source replaces them."""
    desk.run()
    sides.forget_loads(desk.target)
    desk.change_the_source()
    report = desk.run()
    assert report.findings == ()
    desk.assert_in_step()


@pytest.mark.thorough
def test_edits_stay_when_only_the_newest_entry_is_left(desk: Desk):
    """The lake keeps one entry. Rows that only removed entries had are known from the source, edits are not."""
    desk.settings["retain"] = {"lake": 1}
    desk.run()
    desk.change_the_source()
    desk.run()
    sides.forget_loads(desk.target)
    assert desk.run().findings == ()
    desk.run()  # which removes the entries beyond
    desk.assert_in_step()


@pytest.mark.thorough
def test_restore_overwrites_edits(desk: Desk):
    """`on_target_change: restore` says what to do with rows that somebody changed."""
    desk.settings["on_target_change"] = "restore"
    desk.run()
    sides.do(desk.target, "UPDATE items SET name = 'a tester' WHERE id = 7")
    sides.forget_loads(desk.target)
    assert desk.run().findings == ()
    if desk.settings.get("load") != "append":
        desk.assert_in_step()
