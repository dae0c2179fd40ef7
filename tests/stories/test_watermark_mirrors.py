"""Mirrors of watermarks: written after a run, compared before the next one, and never read for anything else."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit import processes, sides
from kit.crash import Recorder
from kit.orders import Orders
from kit.project import TESTS, child
from tidegate import Tidegate
from tidegate.errors import Unsupported
from tidegate.interfaces.open_table import OpenTable
from tidegate.model.names import TableName
from tidegate.model.report import RunReport
from tidegate.plugins import lake

pytestmark = [pytest.mark.postgres]

TIMES = ("2024-01-31 10:00:00.000001", "2024-02-01 09:00:00")
MIRRORS = ["file", "table", "properties"]


class Mirrored:
    """Orders whose watermark is mirrored in three places, with an Iceberg lake."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        orders.settings["look_back"] = 0

    def configuration(self) -> dict[str, Any]:
        lake_settings = {"format": "iceberg", "path": str(self.orders.lake)}
        return {**self.orders.configuration(), "watermark_mirrors": MIRRORS, "lake": lake_settings}

    def tidegate(self) -> Tidegate:
        return Tidegate(**self.configuration())

    def run(self) -> RunReport:
        return self.tidegate().run()

    def is_equal(self) -> bool:
        same_rows = self.orders.rows(self.orders.target) == self.orders.rows(self.orders.source)
        return same_rows and self.tidegate().verify().outcome == "equal" and self.run().outcome == "nothing to do"

    @property
    def file(self) -> Path:
        return self.orders.lake / "watermarks" / "orders.json"

    @property
    def lake_table(self) -> OpenTable:
        [name] = [place.parent for place in self.orders.lake.glob("*/*/metadata")]
        return lake("iceberg").at(self.orders.lake).opened(TableName(name.parent.name, name.name))

    def copies(self) -> list[str | None]:
        stored = self.lake_table.properties()["tidegate.watermark"]
        [(row,)] = sides.ask(self.orders.target, "SELECT watermark_value FROM tidegate.watermarks")
        return [json.loads(self.file.read_text())["watermark_value"], row, json.loads(stored)["watermark_value"]]


def warnings(report: RunReport) -> list[str]:
    return [finding.what for finding in report.findings if finding.check == "watermark"]


@pytest.fixture
def mirrored(plain_orders: Orders) -> Mirrored:
    return Mirrored(plain_orders)


def test_run_writes_every_mirror(mirrored: Mirrored):
    """Each mirror follows the ledger, without a warning, also when somebody sets the watermark."""
    for number, at in enumerate(TIMES):
        mirrored.orders.write(number, at=at)
        assert warnings(mirrored.run()) == []
        assert mirrored.copies() == [at] * 3
    mirrored.tidegate().set_watermark("orders", None, who="Ada", why="read again")
    assert mirrored.copies() == [None] * 3
    assert warnings(mirrored.run()) == []
    assert mirrored.copies() == [TIMES[1]] * 3
    assert mirrored.is_equal()


def test_mirror_that_disagrees_is_reported_and_healed(mirrored: Mirrored):
    """Wrong, unreadable and lost mirrors are written again by a run that has nothing else to do."""
    mirrored.orders.write(1, at=TIMES[0])
    mirrored.run()
    wrong = json.loads(mirrored.file.read_text())
    mirrored.file.write_text(json.dumps({**wrong, "watermark_value": "2099-01-01 00:00:00"}))
    mirrored.orders.in_target("UPDATE tidegate.watermarks SET watermark_value = '2098-01-01 00:00:00'")
    mirrored.lake_table.set_properties({"tidegate.watermark": "not JSON"})
    report = mirrored.run()
    assert (report.outcome, report.exit_code) == ("nothing to do", 0)
    in_file, in_table, in_property = warnings(report)
    assert f"the watermark 2099-01-01 00:00:00 where the ledger has {TIMES[0]}" in in_file
    assert "tidegate.watermarks has the watermark 2098-01-01 00:00:00" in in_table
    assert "cannot be understood" in in_property
    assert mirrored.copies() == [TIMES[0]] * 3
    mirrored.file.unlink()
    assert warnings(mirrored.run()) == []
    assert mirrored.copies() == [TIMES[0]] * 3


def test_mirror_never_moves_a_watermark(mirrored: Mirrored):
    """Rows below a mirror's wrong watermark are loaded all the same."""
    mirrored.orders.write(1, at=TIMES[0])
    mirrored.run()
    wrong = json.loads(mirrored.file.read_text())
    mirrored.file.write_text(json.dumps({**wrong, "watermark_value": "2099-01-01 00:00:00"}))
    mirrored.orders.write(2, at=TIMES[1])
    assert len(warnings(mirrored.run())) == 1
    assert mirrored.is_equal()
    assert mirrored.copies() == [TIMES[1]] * 3


def test_run_killed_before_its_mirrors_is_caught_up(mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch):
    """The rows are committed and the mirrors are not: the next run has no rows to move, and heals them."""
    mirrored.orders.write(1, at=TIMES[0])
    mirrored.run()
    mirrored.orders.write(2, at=TIMES[1])

    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("tidegate.runs.sync.record", kill)
        with pytest.raises(Killed):
            mirrored.run()
    report = mirrored.run()
    assert report.outcome == "nothing to do"
    assert len(warnings(report)) == 3
    assert mirrored.copies() == [TIMES[1]] * 3


@pytest.mark.thorough
@pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc")
def test_no_store_is_ahead_of_the_rows_after_a_kill(mirrored: Mirrored, tmp_path: Path):
    """A run is killed at each of its boundaries in turn. Right after it, neither the ledger nor a mirror has a
    watermark above a row that the target lacks. The next run brings rows and stores in step."""
    orders = mirrored.orders
    orders.write(1, at=TIMES[0])
    recorder = Recorder(tmp_path / "boundaries")
    recorded = mirrored.tidegate()
    recorded.boundary = recorder
    recorded.run()
    file = tmp_path / "tidegate.yml"
    file.write_text(yaml.safe_dump(mirrored.configuration()))
    places = list(recorder.times())
    assert len(places) > 5
    for number, place in enumerate(places):
        orders.write(1, 100 + number, at=f"2024-03-{number + 1:02} 00:00:00")
        arguments = (str(file), place, "1", str(tmp_path / f"tally {number}"), "process")
        with child(TESTS / "kit" / "crash.py", *arguments) as victim:
            victim.communicate(timeout=120)
        assert victim.returncode == -signal.SIGKILL
        [status] = mirrored.tidegate().status()
        missing = {row[4] for row in orders.rows(orders.source)} - {row[4] for row in orders.rows(orders.target)}
        first_missing = min(map(str, missing), default="9999")
        assert all(str(store) < first_missing for store in (status.watermark, *mirrored.copies())), place
        mirrored.run()
        assert mirrored.is_equal(), place
        assert len({*mirrored.copies()}) == 1, place


def test_mirror_that_cannot_be_written_is_a_warning(mirrored: Mirrored):
    mirrored.orders.write(1, at=TIMES[0])
    mirrored.orders.lake.mkdir(exist_ok=True)
    mirrored.file.parent.write_text("a file where the folder should be")
    report = mirrored.run()
    assert (report.outcome, report.exit_code) == ("done", 0)
    assert "could not be written" in warnings(report)[0]
    assert mirrored.is_equal()


def test_properties_need_an_iceberg_lake(plain_orders: Orders):
    with pytest.raises(Unsupported, match="format `parquet` have none"):
        Tidegate(**plain_orders.configuration(), watermark_mirrors=["properties"])
