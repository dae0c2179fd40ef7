"""Keys and values that the target database cannot have: told by the plan, or refused with a way out that works."""

from __future__ import annotations

from typing import Any

import pytest

from kit import sides
from kit.copied import Copied, Copies
from tidegate.errors import RunFailed
from tidegate.model.plan import Notice

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]


def warnings_of(shop: Copied, tables: dict[str, Any], **settings: Any) -> list[str]:
    [table] = shop.tidegate(tables, **settings).plan().tables
    return [step.text for step in table.steps if isinstance(step, Notice) and step.severity == "warning"]


KEYS = """
CREATE TABLE codes (code text PRIMARY KEY, alias text UNIQUE, n integer UNIQUE);
INSERT INTO codes VALUES ('a', 'x', 1), ('A', 'X', 2)
"""
HAS_KEY = (
    "SELECT COUNT(*) FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'codes'"
)


@pytest.mark.parametrize("create", [False, True])
def test_a_key_that_the_target_cannot_have_is_told(copies: Copies, create: bool):
    """A text without a length has no key in MySQL: the plan says so once for each key, and how to get the key."""
    shop = copies("postgresql", "mysql")
    shop.in_source(KEYS)
    tables: dict[str, Any] = {"codes": {"kind": "static"}}
    told = warnings_of(shop, tables, defaults={"create": create})
    assert len(told) == 2
    for kind, column, text in zip(("primary", "unique"), ("code", "alias"), sorted(told), strict=True):
        assert f"cannot have the {kind} key ({column}) of the source" in text
        assert f'`columns: {{{column}: "varchar(100)"}}`' in text
    tables["codes"]["columns"] = {"code": "varchar(100)", "alias": "varchar(100)"}
    assert warnings_of(shop, tables, defaults={"create": create}) == []
    shop.tidegate(tables, defaults={"create": create}).run()
    assert sides.ask(shop.target, HAS_KEY) == [(3 if create else 1,)]
    shop.assert_equal("SELECT code, alias, n FROM codes")


def test_a_key_that_ignores_case_is_told(copies: Copies):
    """The plan names the collation before the target refuses the second row. An exact one needs no warning."""
    shop = copies("postgresql", "mysql")
    shop.in_source(KEYS)
    shop.in_target(
        "CREATE TABLE codes (code varchar(20) COLLATE utf8mb4_general_ci PRIMARY KEY, alias varchar(20), n integer)"
        " DEFAULT CHARSET utf8mb4"
    )
    tables = {"codes": {"kind": "static", "columns": {"code": "varchar(20)", "alias": "varchar(20)"}}}
    [told] = warnings_of(shop, tables)
    words = "key (code) compares code by utf8mb4_general_ci, which ignores case and accents"
    assert told.startswith(f"the target's {words}")
    with pytest.raises(RunFailed, match="Duplicate entry"):
        shop.tidegate(tables).run()
    shop.in_target("ALTER TABLE codes MODIFY code varchar(20) COLLATE utf8mb4_nopad_bin")
    assert warnings_of(shop, tables) == []
    shop.tidegate(tables).run()
    shop.assert_equal("SELECT code, alias, n FROM codes")


SHIFTS = """
CREATE TABLE shifts (day date, id integer, worked time(1), note text, PRIMARY KEY (day, id));
INSERT INTO shifts VALUES ('2024-01-01', 1, '08:00:00.5', 'private'), ('2024-01-01', 7, '100:30:00', 'private'),
  ('2024-01-02', 1, '-02:00:00', 'private'), ('2024-01-02', 2, NULL, 'private')
"""
IN_TARGET = "SELECT id, worked::text FROM shifts ORDER BY day, id"


@pytest.mark.parametrize(
    ("setting", "rows"),
    [
        ("text", [(1, "08:00:00.5"), (7, "100:30:00.0"), (1, "-02:00:00.0"), (2, None)]),
        ({"invalid_values": "text"}, [(1, "08:00:00.5"), (7, "100:30:00.0"), (1, "-02:00:00.0"), (2, None)]),
        ({"invalid_values": None}, [(1, "08:00:00.5"), (7, None), (1, None), (2, None)]),
    ],
    ids=["text", "invalid as text", "invalid as null"],
)
def test_a_time_beyond_a_day_has_a_way_out(copies: Copies, setting: Any, rows: list[Any]):
    """The error names row and column, no value, and what to write; that works, and both sides are equal then."""
    shop = copies("mysql", "postgresql")
    shop.in_source(SHIFTS)
    tables: dict[str, Any] = {"shifts": {"kind": "static"}}
    report = shop.tidegate(tables).run(check=False)
    [(_, problem)] = report.failures
    assert "column worked cannot store a value in the target" in problem
    assert "The row: day=2024-01-01, id=7." in problem
    assert "columns: {worked: text}" in problem
    assert "columns: {worked: {invalid_values: null}}" in problem
    assert "100:30" not in problem and "private" not in problem
    tables["shifts"]["columns"] = {"worked": setting}
    if setting != {"invalid_values": None}:  # as the message says
        shop.in_target("ALTER TABLE shifts ALTER worked TYPE text")
    shop.tidegate(tables).run()
    assert sides.ask(shop.target, IN_TARGET) == rows
    assert shop.tidegate(tables).verify().outcome == "equal"


def failure_of(shop: Copied, tables: dict[str, Any]) -> str:
    [(_, problem)] = shop.tidegate(tables).run(check=False).failures
    assert "private" not in problem
    return problem


PRICES = """
CREATE TABLE prices (shop integer, code varchar(4), price numeric, note text, PRIMARY KEY (shop, code));
INSERT INTO prices VALUES (1, 'A', 1.5000, 'private'), (1, 'B', 4711.12345, 'private'), (2, 'B', 1, NULL)
"""


@pytest.fixture
def prices(copies: Copies) -> Copied:
    found = copies("postgresql", "postgresql")
    found.in_source(PRICES)
    return found


@pytest.mark.parametrize(
    "kind", [{"kind": "static"}, {"kind": "incremental", "changes": "full"}], ids=["static", "full"]
)
def test_a_value_that_a_chosen_type_refuses_is_found(prices: Copied, kind: dict[str, Any]):
    problem = failure_of(prices, {"prices": {**kind, "columns": {"price": "decimal(19,4)"}}})
    assert "column price has a value that decimal(19,4) cannot hold exactly. The row: shop=1, code=B." in problem
    assert "4711" not in problem


def test_invalid_values_that_are_refused_are_found(prices: Copied):
    prices.in_source("UPDATE prices SET price = 'NaN' WHERE shop = 2")
    tables = {"prices": {"kind": "static", "columns": {"price": {"invalid_values": "refuse"}}}}
    problem = failure_of(prices, tables)
    assert "1 row of public.prices have an invalid price (numeric): shop=2, code=B." in problem


def test_a_null_that_the_target_refuses_is_found(prices: Copied):
    prices.in_target(
        "CREATE TABLE prices (shop integer, code varchar(4), price numeric, note text NOT NULL,"
        " PRIMARY KEY (shop, code))"
    )
    problem = failure_of(prices, {"prices": {"kind": "static"}})
    assert "column note came with a null" in problem
    assert "The row: shop=2, code=B." in problem


def test_a_key_that_is_not_unique_is_named(prices: Copied):
    prices.in_source("ALTER TABLE prices DROP CONSTRAINT prices_pkey;\nUPDATE prices SET shop = 1")
    problem = failure_of(prices, {"prices": {"kind": "static", "primary_keys": ["shop", "code"]}})
    assert "the key (shop, code) is not unique in the source: shop=1, code=B" in problem
