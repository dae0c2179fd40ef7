"""Mapped tables: other names, fewer columns and rows, chosen types; plan, lake, target and verdict agree."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from kit import sides
from kit.copied import Copied, Copies
from tidegate.cli.main import main
from tidegate.errors import RunFailed, TidegateError
from tidegate.model.plan import Notice

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

ORDERS = """
CREATE TABLE orders (id integer PRIMARY KEY, region varchar(8), cust integer, price numeric, secret text, day date);
INSERT INTO orders SELECT n, CASE WHEN n % 3 = 0 THEN 'US' ELSE 'EU' END, n % 7, n / 10000.0, 'secret',
  DATE '2024-01-01' + n / 10
FROM generate_series(1, 60) AS n;
CREATE INDEX ON orders (day)
"""
MAPPED = {
    "columns": {"price": "decimal(19,4)", "secret": False, "cust": {"name": "customer"}},
    "where": "region = 'EU' -- the rest is another team's",
}
SOURCE = "SELECT id, region, cust, price, day FROM orders WHERE region = 'EU'"
TARGET = "SELECT id, region, customer, price, day FROM orders"


@pytest.fixture(params=["postgresql", "mysql"])
def shop(copies: Copies, request: pytest.FixtureRequest) -> Copied:
    found = copies("postgresql", request.param)
    found.in_source(ORDERS)
    return found


@pytest.mark.parametrize(
    "kind",
    [
        {"kind": "static", "allow_deletes": True},
        {"kind": "partition", "partition_column": "day", "initial_load_count": "all"},
        {"kind": "incremental", "changes": "sequence", "sequence_column": "id", "load": "append"},
        {"kind": "incremental", "changes": "xmin"},
    ],
    ids=lambda kind: str(kind.get("changes", kind["kind"])),
)
def test_mapped_rows_are_equal_in_the_target(shop: Copied, kind: dict[str, object]):
    """Under other names, without a column, with a decimal instead of a text, and only the rows of one region."""
    tables = {"orders": {**MAPPED, **kind}}
    plan = shop.tidegate(tables).plan()
    told = [step.text for step in plan.tables[0].steps if isinstance(step, Notice)]
    assert "not copied: secret" in told
    assert "chosen types, every value is checked: price: decimal(19,4)" in told
    shop.tidegate(tables).run()
    shop.assert_equal(SOURCE, TARGET)
    shop.in_source(
        "INSERT INTO orders VALUES (61, 'EU', 1, 2.5, NULL, '2024-01-07'), (62, 'US', 1, 3, NULL, '2024-01-07')"
    )
    shop.tidegate(tables).run()
    shop.assert_equal(SOURCE, TARGET)
    report = shop.tidegate(tables).verify()
    assert report.outcome == "equal"
    assert report.coverage["orders"].left_out == 21
    assert shop.tidegate(tables).run().outcome == "nothing to do"


def test_a_target_that_spells_columns_otherwise_names_the_way_out(shop: Copied):
    """The message has the setting under which the rows are copied into the columns as the target spells them."""
    shop.in_target("CREATE TABLE orders (id integer PRIMARY KEY, {DAY} date)".format(DAY=_quoted(shop, "DAY")))
    table = {"kind": "partition", "partition_column": "day", "only_columns": ["id", "day"]}
    report = shop.tidegate({"orders": table}).run(check=False)
    assert "`columns: {day: {name: DAY}}`" in report.failures[0][1]
    spelled = {**table, "partition_column": "DAY", "columns": {"day": {"name": "DAY"}}}
    shop.tidegate({"orders": {**spelled, "initial_load_count": "all"}}).run()
    shop.assert_equal("SELECT id, day FROM orders", "SELECT * FROM orders")


def _quoted(shop: Copied, name: str) -> str:
    return f"`{name}`" if shop.target.startswith("mysql") else f'"{name}"'


def test_no_price_becomes_a_text(copies: Copies):
    shop = copies("postgresql", "mysql")
    shop.in_source(ORDERS)
    shop.tidegate({"orders": {"kind": "static", **MAPPED}}).run()
    types = (
        "SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'price'"
    )
    assert sides.ask(shop.target, types) == [("decimal(19,4)",)]


def test_a_value_that_the_chosen_type_cannot_hold_is_refused(shop: Copied):
    """Nothing is rounded, and nothing becomes a text."""
    tables = {"orders": {"kind": "static", **MAPPED}}
    shop.in_source("UPDATE orders SET price = 1.23456 WHERE id = 1")
    with pytest.raises(TidegateError, match=r"column price has a value that decimal\(19,4\) cannot hold exactly"):
        shop.tidegate(tables).run()
    shop.in_source("UPDATE orders SET price = 1.2345 WHERE id = 1")
    shop.tidegate(tables).run()
    shop.assert_equal(SOURCE, TARGET)


def test_a_changed_filter_is_noticed_and_reloaded(shop: Copied):
    partitions = {"kind": "partition", "partition_column": "day", "initial_load_count": "all", "look_back": 1}
    shop.tidegate({"orders": {**MAPPED, **partitions}}).run()
    other = {"orders": {**MAPPED, **partitions, "where": "region = 'US'"}}
    report = shop.tidegate(other).run(check=False)
    assert "its rows were copied with `where: region = 'EU'" in report.failures[0][1]
    shop.assert_equal(SOURCE, TARGET)
    shop.tidegate(other).run(reload=True)
    shop.assert_equal(SOURCE.replace("'EU'", "'US'"), TARGET)
    assert shop.tidegate(other).verify().outcome == "equal"
    with pytest.raises(RunFailed, match="the configuration has `where: region"):
        shop.tidegate({"orders": {**MAPPED, **partitions}}).run()


def test_chosen_columns_only(shop: Copied):
    shop.tidegate({"orders": {"kind": "static", "only_columns": ["id", "day"]}}).run()
    shop.assert_equal("SELECT id, day FROM orders", "SELECT * FROM orders")


INVALID = """
CREATE TABLE people (id integer PRIMARY KEY, born date, size enum('S', 'M'), note varchar(20));
INSERT IGNORE INTO people VALUES (1, '2000-01-31', 'S', 'plain'), (2, '0000-00-00', 'XL', 'zero'), (3, NULL, NULL, NULL)
"""


@pytest.fixture
def people(copies: Copies) -> Copied:
    found = copies("mysql", "postgresql")
    found.in_source("SET SESSION sql_mode = '';\n" + INVALID)
    return found


def test_invalid_values_become_null_and_are_counted(people: Copied):
    tables = {"people": {"kind": "static", "columns": {name: {"invalid_values": None} for name in ("born", "size")}}}
    told = [step.text for step in people.tidegate(tables).plan().tables[0].steps if isinstance(step, Notice)]
    assert "1 invalid value of born become null" in told
    assert "1 invalid value of size become null" in told
    people.tidegate(tables).run()
    rows = sides.ask(people.target, "SELECT id, born::text, size FROM people ORDER BY id")
    assert rows == [(1, "2000-01-31", "S"), (2, None, None), (3, None, None)]
    assert people.tidegate(tables).verify().outcome == "equal"


def test_invalid_values_are_kept_as_text(people: Copied):
    tables = {"people": {"kind": "static", "columns": {"born": {"invalid_values": "text"}}}}
    people.tidegate(tables).run()
    assert sides.ask(people.target, "SELECT id, born FROM people ORDER BY id") == [
        (1, "2000-01-31"),
        (2, "0000-00-00"),
        (3, None),
    ]
    assert people.tidegate(tables).verify().outcome == "equal"


def test_invalid_values_are_refused(people: Copied):
    tables = {"people": {"kind": "static", "columns": {"size": {"invalid_values": "refuse"}}}}
    report = people.tidegate(tables).run(check=False)
    assert "1 row of" in report.failures[0][1] and "have an invalid size" in report.failures[0][1]


@pytest.mark.parametrize("option", [(), ("--show-values",)], ids=["keys", "values"])
def test_a_value_is_shown_on_request(people: Copied, tmp_path: Path, option: tuple[str, ...]):
    settings = {"source": people.source, "target": people.target, "lake": str(tmp_path), "engine": "process"}
    file = tmp_path / "tidegate.yml"
    file.write_text(yaml.safe_dump({**settings, "tables": {"people": {"kind": "static"}}}))
    result = CliRunner().invoke(main, ["run", "-q", "-c", str(file), *option])
    assert f"The row: id=2{', born=0000-00-00' * bool(option)}." in result.output


@pytest.mark.parametrize(
    ("chosen", "second"),
    [
        ({"invalid_values": None}, (2, None, None)),
        ({"invalid_values": "text"}, (2, "0000-00-00", "")),
        ({"columns": {"born": "text", "size": "text"}}, (2, "0000-00-00", "")),
    ],
    ids=["null", "text", "types"],
)
def test_one_setting_cures_a_new_table(people: Copied, chosen: dict[str, object], second: tuple[object, ...]):
    """A first run fails at a value and leaves an empty table. The next one needs a line of settings, and no DDL."""
    report = people.tidegate({"people": {"kind": "static"}}).run(check=False)
    assert "columns: {born: text}" in str(report.failures[0])
    people.tidegate({"people": {"kind": "static", **chosen}}).run()
    rows = sides.ask(people.target, "SELECT id, CAST(born AS text), CAST(size AS text) FROM people ORDER BY id")
    assert rows == [(1, "2000-01-31", "S"), second, (3, None, None)]
    assert people.tidegate({"people": {"kind": "static", **chosen}}).verify().outcome == "equal"


@pytest.mark.parametrize(
    "prepared",
    [
        "CREATE TABLE people (id integer PRIMARY KEY, born timestamp, size text, note varchar(20))",
        "CREATE TABLE people (id integer PRIMARY KEY, born date, size text, note varchar(20));"
        " INSERT INTO people VALUES (1, '2000-01-31', 'S', 'plain')",
    ],
    ids=["a column of somebody else", "a table with rows"],
)
def test_a_table_of_somebody_else_keeps_its_types(people: Copied, prepared: str):
    people.in_target(prepared)
    tables = {"people": {"kind": "static", "columns": {"born": "text"}, "on_target_change": "restore"}}
    plan = people.tidegate(tables).plan()
    assert "values could change on the way" in str(plan.failures or plan.tables[0])


def test_numbers_that_the_target_cannot_store_become_text(copies: Copies):
    shop = copies("postgresql", "mysql")
    shop.in_source(
        "CREATE TABLE rates (id integer PRIMARY KEY, rate float8); INSERT INTO rates VALUES (1, 'NaN'), (2, 0.5)"
    )
    report = shop.tidegate({"rates": {"kind": "static"}}).run(check=False)
    assert "NaN" in str(report.failures[0])
    shop.tidegate({"rates": {"kind": "static", "columns": {"rate": "text"}}}).run()
    assert sides.ask(shop.target, "SELECT id, rate FROM rates ORDER BY id") == [(1, "NaN"), (2, "0.5")]


def test_a_number_that_becomes_a_text_is_announced(copies: Copies):
    shop = copies("postgresql", "mysql")
    shop.in_source(
        "CREATE TABLE rates (id integer PRIMARY KEY, price numeric, at inet);\nINSERT INTO rates VALUES (1, 2)"
    )
    plan = shop.tidegate({"rates": {"kind": "static"}}).plan().tables[0]
    told = {step.text: step.severity for step in plan.steps if isinstance(step, Notice)}
    [warning] = [text for text, severity in told.items() if severity == "warning"]
    assert warning.startswith("price (numeric) becomes longtext")
    assert told["kept as text in the target: at (inet)"] == "note"
