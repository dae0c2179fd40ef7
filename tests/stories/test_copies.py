"""Tables that are copied as a whole: in every run, or once a day with a copy per date in the lake."""

from __future__ import annotations

import pytest

from kit.orders import Orders
from tidegate.changes.snapshot import SnapshotChange
from tidegate.model.values import Value, ValueKind

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

AT = "2024-01-31 10:00:00"


def test_full_copy_in_every_run(orders: Orders):
    """Every run reads the whole table. A copy without a difference is not loaded again."""
    orders.settings = {"kind": "incremental", "changes": "full", "load": "replace"}
    orders.write(1, 2, 3, at=AT)
    assert orders.run().rows_loaded == 3
    again = orders.run()
    assert (again.rows_extracted, again.steps[-1].outcome) == (3, "skipped")
    orders.in_source("DELETE FROM orders WHERE id = 2")
    orders.run()
    assert orders.rows(orders.target) == orders.rows(orders.source)
    orders.in_target("DELETE FROM orders")
    orders.run()
    assert orders.rows(orders.target) == orders.rows(orders.source)
    assert orders.tidegate().verify().outcome == "equal"


def test_full_copy_is_merged(plain_orders: Orders):
    plain_orders.settings = {"kind": "incremental", "changes": "full", "load": "merge", "allow_deletes": True}
    plain_orders.write(1, 2, 3, at=AT)
    plain_orders.run()
    plain_orders.write(1, at=AT, item="changed")
    plain_orders.in_source("DELETE FROM orders WHERE id = 2")
    assert plain_orders.run().steps[-1].why.endswith("0 inserted, 1 updated, 1 deleted")
    assert plain_orders.rows(plain_orders.target) == plain_orders.rows(plain_orders.source)


def test_snapshot_is_kept_by_date(plain_orders: Orders, monkeypatch: pytest.MonkeyPatch):
    """The lake has a copy for each day, the target has the newest. A second run of a day does nothing."""

    def on(day: str) -> None:
        monkeypatch.setattr(SnapshotChange, "window", lambda change, now: Value.of(day, ValueKind.TEXT))

    plain_orders.settings = {"kind": "incremental", "changes": "snapshot", "load": "replace"}
    plain_orders.write(1, 2, at=AT)
    on("2024-01-31")
    plain_orders.run()
    plain_orders.assert_equal()
    plain_orders.in_source("DELETE FROM orders WHERE id = 2")
    assert plain_orders.run().outcome == "nothing to do"
    on("2024-02-01")
    plain_orders.run()
    plain_orders.assert_equal()
    names = sorted(path.name for path in plain_orders.lake.rglob("*.parquet"))
    assert names == ["orders_snapshot_2024-01-31.parquet", "orders_snapshot_2024-02-01.parquet"]
