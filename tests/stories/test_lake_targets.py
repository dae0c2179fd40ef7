"""Tables that are kept in the lake as a target: merged by key, or as versions, and read by the formats' own readers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.crash import Interrupter
from kit.orders import Orders
from tidegate.errors import ConfigError, RunFailed, Unsupported
from tidegate.loads import _kept_rows
from unit.test_table_lakes import READERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.postgres

NAMES = ("id", "item", "amount", "created_at", "updated_at")
FORMATS = ["iceberg", "delta"]
FIRST, SECOND, THIRD = (f"2024-01-0{day} 10:00:00" for day in (1, 2, 3))


@dataclass
class Kept(Orders):
    """Orders whose target is a table in a lake of a table format."""

    format: str = "iceberg"

    def configuration(self) -> dict[str, Any]:
        configuration = super().configuration()
        return {**configuration, "lake": {"format": self.format, "path": str(self.lake)}, "batch_rows": 3}

    def outside(self) -> list[dict[str, Any]]:
        """Return the rows as the format's own library reads them."""
        found: list[dict[str, Any]] = READERS[self.format](self.lake, "default", "orders").to_pylist()
        return sorted(found, key=lambda row: (row["id"], row.get("start_date") or row["updated_at"]))

    def assert_equal(self) -> None:
        """Assert that readers from outside see the source's rows, that `verify` says so, and that nothing is to do."""
        assert [tuple(row[name] for name in NAMES) for row in self.outside()] == self.rows(self.source)
        report = self.tidegate().verify()
        assert report.outcome == "equal", (report.findings, report.failures)
        assert self.steps() == []


@pytest.fixture(params=FORMATS)
def kept(plain_orders: Orders, request: pytest.FixtureRequest) -> Kept:
    settings = {**plain_orders.settings, "target": "lake"}
    return Kept(plain_orders.source, plain_orders.target, plain_orders.lake, settings=settings, format=request.param)


def versions(kept: Kept, number: int) -> list[tuple[object, ...]]:
    """Return item, start, end and flag of the versions of an order."""
    rows = [row for row in kept.outside() if row["id"] == number]
    return [
        (row["item"], str(row["start_date"]), row["end_date"] and str(row["end_date"]), row["is_current"])
        for row in rows
    ]


def test_changes_are_merged_into_the_lake(kept: Kept):
    """Inserts and updates come, rows that did not change stay in their files, and nothing is left to do."""
    kept.write(*range(1, 11), at=FIRST)
    assert kept.run().rows_loaded == 10
    kept.assert_equal()
    files = set(kept.lake.glob("default/orders/data/*.parquet"))
    kept.write(2, 11, at=SECOND, item="coffee")
    report = kept.run()
    assert report.steps[-1].counts == {"inserted": 1, "updated": 1, "deleted": 0}
    kept.assert_equal()
    assert kept.run().outcome == "nothing to do"
    assert len(set(kept.lake.glob("default/orders/data/*.parquet")) - files) == 2
    assert sides.ask(kept.target, "SELECT to_regclass('orders')") == [(None,)]


def test_rows_that_left_leave_the_lake(kept: Kept):
    kept.settings["deletes"] = "key_compare"
    kept.write(*range(1, 6), at=FIRST)
    kept.run()
    kept.in_source("DELETE FROM orders WHERE id IN (2, 3)")
    assert kept.run().steps[-1].counts == {"inserted": 0, "updated": 0, "deleted": 2}
    kept.assert_equal()


def test_rows_that_left_may_stay(kept: Kept):
    """Without a rule for deletes they stay, and the proof says so."""
    kept.write(1, 2, at=FIRST)
    kept.run()
    kept.in_source("DELETE FROM orders WHERE id = 1")
    kept.write(3, at=SECOND)
    kept.run()
    assert [row["id"] for row in kept.outside()] == [1, 2, 3]
    report = kept.tidegate().verify()
    assert report.outcome == "equal" and "holds 1 more" in report.findings[0].what


def test_the_newest_of_several_rows_counts(kept: Kept):
    """The source has no key, and several rows of one in a window."""
    kept.settings["keys"] = ["item"]
    kept.write(1, at=FIRST, item="tea")
    kept.write(2, at=SECOND, item="tea")
    kept.write(3, at=FIRST, item="coffee")
    kept.run()
    assert sorted((row["item"], row["id"]) for row in kept.outside()) == [("coffee", 3), ("tea", 2)]


def test_a_killed_load_is_found_in_the_lake(kept: Kept, tmp_path: Path):
    """Killed after the commit in the lake, before the ledger's: the next run commits nothing again."""
    kept.write(1, 2, 3, at=FIRST)
    with pytest.raises(RunFailed):
        kept.tidegate(boundary=Interrupter("kept in the lake", 1, tmp_path / "tally")).run()
    before = len(kept.tidegate().lake_history("orders", target=True))
    report = kept.run()
    assert report.steps[-1].why.endswith("the target holds it already")
    assert len(kept.tidegate().lake_history("orders", target=True)) == before
    kept.assert_equal()


def test_a_lost_ledger_is_written_again(kept: Kept):
    """The commits of the table say which windows it has: nothing is written into the lake again."""
    kept.write(1, 2, at=FIRST)
    kept.run()
    kept.write(2, 3, at=SECOND)
    kept.run()
    before = len(kept.tidegate().lake_history("orders", target=True))
    kept.in_target("DELETE FROM tidegate.ledger")
    kept.run()
    assert len(kept.tidegate().lake_history("orders", target=True)) == before
    kept.assert_equal()


def test_lost_rows_come_again(kept: Kept):
    """Somebody deletes rows of the table in the lake: the log brings them back."""
    kept.write(1, 2, 3, at=FIRST)
    kept.run()
    delete_from(kept, "id = 2")
    assert [row["id"] for row in kept.outside()] == [1, 3]
    assert kept.tidegate().verify().outcome == "differences"
    kept.run()
    kept.assert_equal()


def test_changed_rows_are_found(kept: Kept):
    kept.write(1, 2, at=FIRST)
    kept.run()
    delete_from(kept, "id = 2")
    kept.write(9, at=FIRST)
    findings = kept.tidegate().verify().findings
    assert "2 missing in the target (2, 9)" in findings[0].what


def test_new_columns_come(kept: Kept):
    kept.write(1, 2, at=FIRST)
    kept.run()
    kept.in_source("ALTER TABLE orders ADD COLUMN note varchar(10)")
    kept.in_source("UPDATE orders SET note = 'new', updated_at = %s WHERE id = 1", SECOND)
    kept.run()
    kept.assert_equal()
    assert [row["note"] for row in kept.outside()] == ["new", None]


def test_another_writer_commits_meanwhile(kept: Kept, monkeypatch: pytest.MonkeyPatch):
    """A compaction comes between the look at the table and the commit: the load looks again, and is done once."""
    kept.write(1, 2, 3, at=FIRST)
    kept.run()
    kept.write(2, 4, at=SECOND, item="coffee")
    kept.run()
    kept.write(5, at=THIRD)
    writer, met = _kept_rows.TableWriter.keep, []

    def compacting(self: Any, *arguments: Any) -> Any:
        if not met:
            met.append(kept.tidegate().lake_clean("orders", keep_days=30, dry_run=False))
        return writer(self, *arguments)

    monkeypatch.setattr(_kept_rows.TableWriter, "keep", compacting)
    kept.run()
    assert met[0]["orders"].merged
    kept.assert_equal()


def test_an_older_state_is_read(kept: Kept, spark: SparkSession):
    kept.spark = spark
    kept.write(1, 2, at=FIRST)
    kept.run()
    then = kept.tidegate().lake_history("orders", target=True)[-1].id
    kept.write(1, 3, at=SECOND, item="coffee")
    kept.run()
    rows = kept.tidegate().dataframe("orders", as_of=then).collect()
    assert sorted((row.id, row.item) for row in rows) == [(1, "tea"), (2, "tea")]
    now = kept.tidegate().dataframe("orders").collect()
    assert sorted((row.id, row.item) for row in now) == [(1, "coffee"), (2, "tea"), (3, "coffee")]


def test_values_without_room_rest_as_text(kept: Kept):
    """NaN in a numeric column: the table of the lake keeps it as text beside the column, and stays exact."""
    kept.in_source("ALTER TABLE orders ALTER COLUMN amount TYPE numeric(12,2)")
    kept.write(1, at=FIRST)
    kept.run()
    kept.in_source("INSERT INTO orders VALUES (2, 'odd', 'NaN', %s, %s)", SECOND, SECOND)
    kept.run()
    [_, odd] = kept.outside()
    assert (odd["amount"], odd["amount__text"]) == (None, "NaN")
    assert kept.tidegate().verify().outcome == "equal"


def test_versions_are_kept_in_the_lake(kept: Kept):
    """A changed row ends a version and starts one, a late row comes in its place, and a deleted one ends."""
    kept.settings = {"kind": "incremental", "changes": "timestamp", "timestamp_column": "updated_at", "load": "scd2"}
    kept.settings |= {"target": "lake", "deletes": "close", "look_back": "10 days"}
    kept.write(1, 2, at=FIRST, item="tea")
    kept.run()
    assert versions(kept, 1) == [("tea", FIRST, None, True)]
    kept.write(1, at=THIRD, item="coffee")
    kept.run()
    assert versions(kept, 1) == [("tea", FIRST, THIRD, False), ("coffee", THIRD, None, True)]
    kept.in_source("DELETE FROM orders WHERE id = 2")
    kept.run()
    [(item, start, end, is_current)] = versions(kept, 2)
    assert (item, start, is_current) == ("tea", FIRST, False) and end is not None
    assert kept.tidegate().verify().outcome == "equal"
    kept.write(2, at="2030-01-01 00:00:00", item="tea")
    kept.run()
    assert [version[1:] for version in versions(kept, 2)] == [
        (FIRST, end, False),
        ("2030-01-01 00:00:00", None, True),
    ]
    assert kept.tidegate().verify().outcome == "equal"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "static"}, "does not fit"),
        ({"kind": "incremental", "changes": "full"}, "does not fit"),
    ],
)
def test_other_kinds_are_refused(kept: Kept, settings: dict[str, Any], message: str):
    kept.settings = {**settings, "target": "lake"}
    with pytest.raises(Unsupported, match=message):
        kept.tidegate()


def test_a_parquet_lake_keeps_no_targets(kept: Kept):
    kept.format = "parquet"
    with pytest.raises(ConfigError, match="target: lake"):
        kept.tidegate()


def delete_from(kept: Kept, condition: str) -> None:
    """Delete rows as others do, with the format's own library."""
    if kept.format == "delta":
        from deltalake import DeltaTable

        DeltaTable(str(kept.lake / "default" / "orders")).delete(condition)
        return
    from pyiceberg.catalog.sql import SqlCatalog

    place = {"uri": f"sqlite:///{kept.lake}/catalog.db", "warehouse": f"file://{kept.lake}"}
    SqlCatalog("tidegate", **place).load_table("default.orders").delete(condition)
