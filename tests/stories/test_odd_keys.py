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
