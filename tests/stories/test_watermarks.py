"""The watermark of an incremental table: shown, set and reset, with who and why in the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from kit.orders import Orders
from tidegate.cli.main import main
from tidegate.errors import ConfigError

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

TIMES = ("2024-01-31 10:00:00.000001", "2024-01-31 12:30:00.123456", "2024-02-01 09:00:00")


def loaded(orders: Orders) -> Orders:
    orders.settings["look_back"] = 0
    for number, at in enumerate(TIMES):
        orders.write(number, at=at)
    orders.run()
    return orders


def test_reset_watermark_reads_all_again(orders: Orders):
    """After a reset the next run reads every row. Nothing is loaded that is there already."""
    loaded(orders).tidegate().set_watermark("orders", None, who="Ada", why="the source was corrected")
    assert orders.tidegate().watermark("orders").watermark == ""
    extract, load = orders.run().steps
    assert (extract.rows, extract.why) == (3, "the watermark was reset by Ada: the source was corrected")
    assert load.outcome == "skipped"
    orders.assert_equal()
    assert orders.status().watermark == TIMES[2]


def test_set_watermark_reads_from_there_on(orders: Orders):
    """A row was changed without its time. Setting the watermark back makes the next run read it."""
    loaded(orders).in_source("UPDATE orders SET item = 'corrected' WHERE id = 1")
    assert orders.steps() == []
    orders.tidegate().set_watermark("orders", TIMES[1], who="Ada", why="item of order 1")
    assert orders.tidegate().watermark("orders").watermark == TIMES[1]
    extract, load = orders.run().steps
    assert (extract.rows, load.rows) == (2, 1)
    orders.assert_equal()


def test_watermark_can_skip_rows(plain_orders: Orders):
    """Setting the watermark forward leaves rows out, which `verify` finds."""
    loaded(plain_orders).write(7, at="2024-02-02 00:00:00")
    plain_orders.write(8, at="2024-02-04 00:00:00")
    plain_orders.tidegate().set_watermark("orders", "2024-02-03 00:00:00", who="Ada", why="order 7 is a test")
    plain_orders.run()
    assert [row[0] for row in plain_orders.rows(plain_orders.target)] == [0, 1, 2, 8]
    assert plain_orders.tidegate().verify().outcome == "differences"


def test_wrong_value_is_refused(plain_orders: Orders):
    with pytest.raises(ConfigError, match="'yesterday' is not a timestamp"):
        loaded(plain_orders).tidegate().set_watermark("orders", "yesterday", why="a try")


@pytest.fixture
def command(plain_orders: Orders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    (tmp_path / "tidegate.yml").write_text(yaml.safe_dump(loaded(plain_orders).configuration()))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["watermark", *arguments])

    return call


def test_watermark_command(command: object, plain_orders: Orders):
    assert callable(command)
    assert "orders: updated_at up to 2024-02-01 09:00:00" in command("get", "orders").output
    assert command("reset", "orders", "--yes").exit_code == 2  # without --why
    done = command("set", "orders", TIMES[0], "--why", "a correction", "--who", "Ada", "--yes")
    assert f"orders: the watermark was set to {TIMES[0]} by Ada: a correction" in done.output
    found = json.loads(command("get", "orders", "--json").stdout)
    assert (found["watermark"], found["newest"]) == (TIMES[0], TIMES[2])
    plain_orders.run()
    plain_orders.assert_equal()
