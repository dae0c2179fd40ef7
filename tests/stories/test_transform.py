"""A transform between lake and target: raw rows are kept, curated rows are loaded, and receipts join them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Any

import pytest

from kit import sides
from kit.crash import Interrupter
from kit.project import FRIDAY, MONDAY, Story
from kit.s3 import s3_server
from tidegate import Tidegate
from tidegate.model.plan import Notice

pytestmark = [pytest.mark.postgres, pytest.mark.spark]

MASK = "* EXCEPT (note, amount), sha2(note, 256) AS note, CAST(amount * 2 AS decimal(38,18)) AS amount"
EXPECTED = """
SELECT amount * 2, cob, id, load_id, encode(sha256(convert_to(note, 'UTF8')), 'hex'), traded_at FROM trades
"""
FOUND = "SELECT amount, cob, id, load_id, note, traded_at FROM trades"


@pytest.fixture
def masked(story: Story) -> Story:
    story.settings["transform"] = MASK
    # Of some amounts the double has no room in a decimal of 38 digits.
    story.in_source("UPDATE trades SET amount = amount / 1000000 WHERE abs(amount) > 1000000")
    return story


def assert_derived(story: Story) -> None:
    """Assert that the target has the transformed rows of the source, and that `verify` says so."""
    found, expected = sides.ask(story.target, FOUND), sides.ask(story.source, EXPECTED)
    assert sorted(map(repr, found)) == sorted(map(repr, expected)) and found
    report = story.tidegate().verify()
    assert report.outcome == "equal" and all(comparison.equal for comparison in report.comparisons)
    assert not story.tidegate().plan().does_something


def test_the_target_gets_transformed_rows(masked: Story):
    """A first run, a restated day, and nothing left to do: the raw rows are those of the source."""
    assert masked.run().outcome == "done"
    assert_derived(masked)
    masked.in_source("DELETE FROM trades WHERE cob = %s AND id > 150", FRIDAY)
    assert {step["value"] for step in masked.run().to_dict()["steps"]} == {str(FRIDAY)}
    assert_derived(masked)
    raw = masked.tidegate().dataframe("trades", raw=True)
    assert sorted(map(repr, (row.amount for row in raw.collect()))) == sorted(
        repr(amount) for (amount,) in sides.ask(masked.source, "SELECT amount FROM trades")
    )
    assert masked.tidegate().dataframe("trades").where("note NOT RLIKE '^[0-9a-f]{64}$'").count() == 0


def test_the_plan_says_that_the_target_is_derived(masked: Story):
    notices = [step.text for step in masked.steps() if isinstance(step, Notice)]
    assert f"the target is derived: each row goes through `transform: {MASK}`" in notices


def test_ledger_has_the_hash_of_both_sides(masked: Story):
    masked.run()
    query = "SELECT hash, newest FROM tidegate.ledger WHERE value_text = %s"
    [(curated, remembered)] = sides.ask(masked.target, query, str(MONDAY))
    [comparison] = [one for one in masked.tidegate().verify().comparisons if one.value == str(MONDAY)]
    assert comparison.source is not None and comparison.target is not None
    assert f'"raw_hash": "{comparison.source.hash}"' in str(remembered)
    assert comparison.source.hash != comparison.target.hash == curated


def test_a_function_can_transform(story: Story):
    story.settings["transform"] = "kit.transforms:without_notes"
    story.run()
    assert sides.ask(story.target, "SELECT DISTINCT note FROM trades") == [("masked",)]
    assert story.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_another_transform_loads_everything_again(masked: Story):
    masked.run()
    masked.settings["transform"] = "* EXCEPT (note), 'hidden' AS note"
    report = masked.run()
    assert {step["step"] for step in report.to_dict()["steps"]} == {"extract", "load"}
    assert sides.ask(masked.target, "SELECT DISTINCT note FROM trades") == [("hidden",)]
    assert masked.tidegate().verify().outcome == "equal"


def test_verify_finds_changes_on_each_side(masked: Story):
    masked.run()
    masked.in_target("UPDATE trades SET note = 'open' WHERE cob = %s AND id = 5", MONDAY)
    masked.in_source("UPDATE trades SET note = 'other' WHERE cob = %s AND id = 5", FRIDAY)
    found = {finding.value: finding.what for finding in masked.tidegate().verify().findings}
    assert "the target differs from what was loaded" in found[str(MONDAY)]
    assert "the source changed after it was extracted" in found[str(FRIDAY)]
    masked.tidegate().repair()
    assert_derived(masked)


@pytest.mark.thorough
@pytest.mark.parametrize("boundary", ["raw published", "published", "loaded"])
def test_an_interrupted_run_is_completed(masked: Story, boundary: str, tmp_path: Path):
    with pytest.raises(KeyboardInterrupt):
        masked.tidegate(boundary=Interrupter(boundary, 2, tmp_path / "tally")).run()
    masked.run()
    assert_derived(masked)


@pytest.mark.thorough
def test_a_transform_through_a_bucket(masked: Story):
    with s3_server() as server:
        server.make_bucket("curated")
        masked.project["lake"] = {"path": "s3://curated/lake", "store": server.options}
        masked.run()
        assert_derived(masked)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("transform", "message"),
    [
        ("* EXCEPT (note)", "other columns than the table has: note"),
        ("*, 1 AS extra", "other columns than the table has: extra"),
        ("* EXCEPT (id), 'x' AS id", "column id"),
        ("nonsense FROM", "`transform` failed"),
        ("kit.transforms:twice", "makes 400 rows of 200"),
        ("kit.transforms:other_days", "changes the partition column cob"),
        ("kit.transforms:missing", "cannot be imported"),
    ],
)
def test_wrong_transforms_fail_before_the_target_changes(story: Story, transform: str, message: str):
    story.settings["transform"] = transform
    report = story.tidegate().run(check=False)
    assert report.exit_code == 1
    failed = " ".join([problem for _, problem in report.failures] + [step.error or "" for step in report.steps])
    assert message in failed
    is_made = sides.ask(story.target, "SELECT to_regclass('trades') IS NOT NULL") == [(True,)]
    assert not is_made or sides.ask(story.target, "SELECT count(*) FROM trades") == [(0,)]


KINDS: dict[str, dict[str, Any]] = {
    "static": {"kind": "static", "allow_deletes": True},
    "cursor": {"kind": "incremental", "changes": "timestamp", "timestamp_column": "updated_at"},
    "keys": {
        "kind": "incremental",
        "changes": "timestamp",
        "timestamp_column": "updated_at",
        "deletes": "key_compare",
    },
    "copy": {"kind": "incremental", "changes": "full", "load": "replace"},
    "triggers": {"kind": "incremental", "changes": "triggers"},
    "lake": {"kind": "incremental", "changes": "timestamp", "timestamp_column": "updated_at", "target": "lake"},
}
ORDERS = """
CREATE TABLE orders (id int PRIMARY KEY, name text, amount numeric(12,2), opens time, updated_at timestamp NOT NULL);
INSERT INTO orders
SELECT n, 'name ' || n, n, '07:30', timestamp '2024-01-01' + n * interval '1 hour' FROM generate_series(1, 20) AS n
"""
CHANGE = """
UPDATE orders SET name = 'other', updated_at = '2024-02-01' WHERE id = 7;
INSERT INTO orders VALUES (21, NULL, NULL, NULL, '2024-02-02')
"""
HIDDEN = "* EXCEPT (name), sha2(name, 256) AS name"
MASKED = "SELECT id, encode(sha256(convert_to(name, 'UTF8')), 'hex'), amount, opens, updated_at FROM orders ORDER BY id"


@dataclass
class Derived:
    """Orders whose names are hidden in the target."""

    story: Story
    settings: dict[str, Any]
    format: str = "parquet"
    transform: str = HIDDEN

    def tidegate(self) -> Tidegate:
        lake = {"format": self.format, "path": str(self.story.lake)}
        places: dict[str, Any] = {"source": self.story.source, "target": self.story.target, "lake": lake}
        tables = {"orders": {**self.settings, "transform": self.transform}}
        return Tidegate(**places, tables=tables, spark=self.story.spark)

    def do(self, statement: str) -> None:
        sides.do(self.story.source, statement)

    def run(self) -> None:
        report = self.tidegate().run()
        assert report.outcome == "done", report.failures

    def rows(self) -> list[tuple[object, ...]]:
        if self.settings.get("target") == "lake":
            found = self.tidegate().dataframe("orders").collect()
            return sorted(
                (row.id, row.name, row.amount, time.fromisoformat(row.opens) if row.opens else None, row.updated_at)
                for row in found
            )
        return sides.ask(self.story.target, "SELECT id, name, amount, opens, updated_at FROM orders ORDER BY id")

    def assert_derived(self) -> None:
        assert self.rows() == sides.ask(self.story.source, MASKED)
        report = self.tidegate().verify()
        assert report.outcome == "equal", (report.findings, report.failures)
        always = self.settings.get("changes") == "full"  # such a table is copied by every run
        assert self.tidegate().plan().does_something == always


@pytest.fixture
def derived(story: Story, request: pytest.FixtureRequest) -> Derived:
    found = Derived(story, KINDS[request.param], "iceberg" if request.param == "lake" else "parquet")
    found.do(ORDERS)
    if request.param == "triggers":
        found.tidegate().create_feed("orders")
    return found


EVERY_DAY = ["static", "keys"]
OTHERS = [pytest.param(name, marks=pytest.mark.thorough) for name in KINDS if name not in EVERY_DAY]


@pytest.mark.parametrize("derived", [*EVERY_DAY, *OTHERS], indirect=True)
def test_tables_of_other_kinds_are_derived(derived: Derived):
    """A first run, changes, deletes where the table follows them, and a proof of both sides against the lake."""
    derived.run()
    derived.assert_derived()
    derived.do(CHANGE)
    derived.run()
    derived.assert_derived()
    if derived.settings not in (KINDS["cursor"], KINDS["lake"]):
        derived.do("DELETE FROM orders WHERE id IN (3, 4)")
        derived.run()
        derived.assert_derived()
    raw = derived.tidegate().dataframe("orders", raw=True).where("id = 7").collect()
    assert {row.name for row in raw} <= {"name 7", "other"} and raw


@pytest.mark.thorough
@pytest.mark.parametrize("derived", ["static", "keys"], indirect=True)
def test_changes_on_each_side_are_found(derived: Derived):
    derived.run()
    sides.do(derived.story.target, "UPDATE orders SET name = 'open' WHERE id = 5")
    derived.do("UPDATE orders SET amount = -1 WHERE id = 6")
    found = {finding.what for finding in derived.tidegate().verify().findings}
    assert {"the target differs from what was loaded", "the source changed after it was extracted"} <= found


@pytest.mark.thorough
@pytest.mark.parametrize("derived", ["keys"], indirect=True)
def test_keys_must_stay(derived: Derived):
    derived.transform = "* EXCEPT (id), id + 1 AS id"
    report = derived.tidegate().run(check=False)
    problems = " ".join(step.error or "" for step in report.steps)
    assert "changes one of the columns by which rows are known" in problems


def test_versions_take_no_transform(story: Story):
    tables: dict[str, Any] = {
        "trades": {"kind": "scd2", "history": "generate", "business_keys": ["id"], "transform": "*"}
    }
    tidegate = Tidegate(source=story.source, target=story.target, lake=str(story.lake), tables=tables)
    [(_, problem)] = tidegate.plan("trades").failures
    assert "takes no `transform`" in problem
