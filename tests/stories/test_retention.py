"""`retain: {lake: 2}` for a static table and a table of versions: the lake stays small, the target stays right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidegate.lakes.parquet
from kit import sides
from kit.one_process import OneProcess
from kit.project import database_on
from tidegate import Tidegate
from tidegate.model.plan import Notice, Remove, Step

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = pytest.mark.postgres

KEPT, RUNS = 2, 5
CREATE = {
    "currencies": """
        CREATE TABLE currencies (code varchar(3) PRIMARY KEY, name varchar(40), rate integer);
        INSERT INTO currencies VALUES ('CHF', 'Franken', 0), ('EUR', 'Euro', 0)
    """,
    "customers": """
        CREATE TABLE customers (
            id integer NOT NULL, name varchar(40), lastmodified timestamp(6) NOT NULL, islatest boolean NOT NULL
        );
        CREATE INDEX ON customers (lastmodified);
        INSERT INTO customers VALUES (1, 'version 0', '2024-01-01', true), (2, 'other', '2024-01-01', true)
    """,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "currencies": {"kind": "static"},
    "customers": {"kind": "scd2", "business_keys": ["id"], "initial_load": "full"},
}
FOLDERS = {"currencies": "static_currencies", "customers": "scd_customers"}


@dataclass
class Retained:
    """One table with `retain: {lake: 2}`, its source, its lake and its target."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    table: str
    retain: dict[str, int] | None = field(default_factory=lambda: {"lake": KEPT})
    changes: int = 0

    def tidegate(self) -> Tidegate:
        places = {"source": self.source, "target": self.target, "lake": str(self.lake)}
        settings = {**SETTINGS[self.table], **({"retain": self.retain} if self.retain else {})}
        return Tidegate(**places, tables={self.table: settings}, spark=OneProcess())

    def run(self) -> RunReport:
        return self.tidegate().run()

    def change(self) -> None:
        """Change the source. A new entry gets another name a second later."""
        self.changes += 1
        number = self.changes
        if self.table == "currencies":
            sides.do(self.source, "UPDATE currencies SET rate = %s", number)
        else:
            sides.do(self.source, "UPDATE customers SET islatest = false WHERE id = 1")
            day = f"2024-01-{number + 1:02}"
            sides.do(self.source, "INSERT INTO customers VALUES (1, %s, %s, true)", f"version {number}", day)
        time.sleep(1.001 - time.time() % 1)

    def changed_and_run(self, times: int) -> None:
        for _ in range(times):
            self.change()
            self.run()

    def steps(self) -> list[Step]:
        plan = self.tidegate().plan()
        assert not plan.failures, plan.failures
        return [step for step in plan.tables[0].steps if not isinstance(step, Notice)]

    def entries(self) -> list[Path]:
        """Return the files of the lake, oldest first."""
        folder = self.lake / "organized" / FOLDERS[self.table]
        return sorted(folder.rglob("*.parquet"), key=lambda path: path.name)

    def rows(self, url: str) -> list[Any]:
        return sorted(sides.ask(url, f"SELECT * FROM {self.table}"), key=repr)  # noqa: S608 - a name of ours

    def assert_in_step(self) -> None:
        assert self.rows(self.target) == self.rows(self.source)
        verified = self.tidegate().verify()
        assert verified.outcome == "equal", verified.findings


@pytest.fixture(params=["currencies", "customers"], ids=["static", "scd2"])
def retained(request: pytest.FixtureRequest, postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Retained]:
    with database_on(postgres) as source, database_on(postgres) as target:
        sides.do(source, CREATE[request.param])
        yield Retained(source, target, tmp_path / "lake", request.param)


def _did(report: RunReport) -> set[str]:
    return {step.step for step in report.steps if step.outcome == "done"}


def test_older_entries_leave_the_lake_by_plan(retained: Retained):
    """Entries beyond the two newest are named by the plan, and the run removes exactly them."""
    retained.retain = None
    retained.run()
    retained.changed_and_run(3)
    before = retained.entries()
    assert len(before) == 4

    retained.retain = {"lake": KEPT}
    steps = retained.steps()
    assert steps and all(isinstance(step, Remove) and step.side == "lake" for step in steps)
    assert {step.why for step in steps if isinstance(step, Remove)} == {"beyond `retain: lake: 2`"}

    assert _did(retained.run()) == {"remove"}
    assert retained.entries() == before[-KEPT:]
    retained.assert_in_step()


def test_removed_entries_are_not_extracted_again(retained: Retained):
    """After older entries have left, a quiet run has nothing to do, however often it comes."""
    retained.run()
    retained.changed_and_run(3)

    for _ in range(3):
        assert retained.steps() == []
        assert retained.run().outcome == "nothing to do"
    assert len(retained.entries()) == KEPT


@pytest.mark.thorough
def test_number_of_entries_stays_bounded(retained: Retained):
    """Five runs with changes extract once each, and the lake never holds more than two entries."""
    retained.run()
    for _ in range(RUNS):
        retained.change()
        report = retained.run()
        assert [step.step for step in report.steps if step.outcome == "done"].count("extract") == 1
        assert len(retained.entries()) == KEPT
        retained.assert_in_step()
        assert retained.steps() == []


def test_lost_rows_heal_after_entries_were_removed(retained: Retained):
    """When the target loses rows that only removed entries had, they come again, from the source if need be."""
    retained.run()
    retained.changed_and_run(3)
    statement = {"currencies": "DELETE FROM currencies WHERE code = 'CHF'", "customers": "DELETE FROM customers"}
    sides.do(retained.target, statement[retained.table])

    did = _did(retained.run())

    # A static entry is the whole table. The first versions are in no entry that was kept.
    assert did - {"remove"} == ({"load"} if retained.table == "currencies" else {"extract", "load"})
    retained.assert_in_step()
    assert retained.steps() == []


@pytest.mark.thorough
def test_lost_lake_heals_with_retention(retained: Retained):
    """When the whole lake is lost, one extraction brings it back; the target is not changed."""
    retained.run()
    retained.changed_and_run(3)
    before = sides.ask(retained.target, f"SELECT xmin::text, t.* FROM {retained.table} AS t")  # noqa: S608
    for path in retained.entries():
        path.unlink()

    time.sleep(1.001 - time.time() % 1)
    assert "extract" in _did(retained.run())

    retained.assert_in_step()
    assert sides.ask(retained.target, f"SELECT xmin::text, t.* FROM {retained.table} AS t") == before  # noqa: S608
    assert retained.steps() == []


@pytest.mark.parametrize("retain", [None, {"lake": KEPT}], ids=["all kept", "two kept"])
@pytest.mark.parametrize("retained", ["customers"], indirect=True)
def test_purged_versions_survive_repair(retained: Retained, retain: dict[str, int] | None):
    """A version that the source purged stays in the target as history, also when its lake entry was removed.

    `verify` knows from the lake that it was extracted once. `repair` must not delete what the lake cannot tell."""
    retained.retain = retain
    retained.run()
    retained.changed_and_run(3)
    loaded = retained.rows(retained.target)
    sides.do(retained.source, "DELETE FROM customers WHERE name = 'version 0'")

    assert retained.tidegate().verify().outcome == "equal"
    retained.tidegate().repair()

    assert retained.rows(retained.target) == loaded


def test_planning_opens_no_entry_that_the_ledger_knows(retained: Retained, monkeypatch: pytest.MonkeyPatch):
    """Planning a target in sync opens no older entry: its cost does not grow with history. Of a static table only the
    newest entry is opened: it tells which columns it has."""
    most = 1 if retained.table == "currencies" else 0
    retained.retain = None
    retained.run()
    retained.changed_and_run(3)
    opened: list[str] = []
    read_footer = tidegate.lakes.parquet.read_footer

    def counted(storage: Any, path: str) -> dict[str, Any]:
        opened.append(path)
        return read_footer(storage, path)

    monkeypatch.setattr(tidegate.lakes.parquet, "read_footer", counted)
    assert (retained.steps(), len(opened)) == ([], most)

    retained.retain = {"lake": KEPT}
    retained.run()
    opened.clear()
    assert (retained.steps(), len(opened)) == ([], most)
