"""Rules of the user: queries that `verify` asks, and what becomes of those that do not hold."""

from __future__ import annotations

from typing import Any

import pytest

from kit.project import cli
from kit.shop import Shop
from tidegate.errors import ConfigError
from tidegate.runs.rules import holds

pytestmark = [pytest.mark.postgres]


def with_rules(shop: Shop, *rules: dict[str, Any]) -> Shop:
    tables = {"sales": {**shop.configuration()["tables"]["sales"], "checks": list(rules)}}
    shop.settings["tables"] = tables
    shop.run()
    return shop


def test_rules_that_hold_are_silent(shop: Shop):
    with_rules(
        shop,
        {"sql": "SELECT id FROM sales WHERE amount < 0"},
        {"sql": "SELECT count(*) FROM sales", "expect": 300},
        {"sql": "SELECT count(*) FROM sales", "expect": ">= 1", "side": "source"},
        {"sql": "SELECT sum(amount) FROM sales", "expect": "same"},
    )
    report = shop.tidegate().verify()
    assert (report.outcome, report.exit_code, report.findings) == ("equal", 0, ())


def test_an_error_fails_the_verification(shop: Shop):
    with_rules(shop, {"name": "few sales", "sql": "SELECT count(*) FROM sales", "expect": "< 100"})
    code, output, _ = cli("verify", "-q", "-c", shop.file())
    assert code == 3
    assert "error: sales: few sales: the answer is 300, expected < 100" in output
    assert "the target equals the source within its scope, but 1 rule of the configuration do not hold" in output


@pytest.mark.parametrize("severity", ["warning", "note"])
def test_other_severities_are_said_and_pass(shop: Shop, severity: str):
    with_rules(shop, {"sql": "SELECT id FROM sales WHERE id = 7", "severity": severity})
    report = shop.tidegate().verify()
    assert (report.outcome, report.exit_code) == ("equal", 0)
    assert [(found.check, found.what, found.severity) for found in report.findings] == [
        ("rule", "rule 1: the answer is 7, expected empty", severity)
    ]


def test_a_rule_that_cannot_be_asked_fails_its_table(shop: Shop):
    with_rules(shop, {"name": "typo", "sql": "SELECT nothing FROM sales"})
    report = shop.tidegate().verify()
    assert report.exit_code == 1
    assert report.failures[0][1].startswith("typo: ")


def test_a_rule_cannot_write(shop: Shop):
    with_rules(shop, {"sql": "DELETE FROM sales RETURNING id"})
    assert shop.tidegate().verify().exit_code == 1
    assert shop.tidegate().verify().outcome == "failed", "the rows are still there, and the rule is still refused"
    shop.settings.clear()
    assert shop.tidegate().verify("sales").outcome == "equal"


def test_an_unknown_key_of_a_rule_is_refused(shop: Shop):
    with pytest.raises(ConfigError, match="expects"):
        with_rules(shop, {"sql": "SELECT 1", "expects": 1})


@pytest.mark.parametrize(
    ("answer", "expected", "verdict"),
    [
        ([], "empty", True),
        (["1"], "empty", False),
        (["1", "2"], "rows", True),
        ([], "rows", False),
        (["1.50"], "1.5", True),
        (["10"], "> 9", True),
        (["abc"], "abc", True),
        (["abc"], "!= abc", False),
        ([None], "0", False),
        (["1", "1"], "1", False),
    ],
)
def test_expectations(answer: list[str | None], expected: str, verdict: bool):
    assert holds(answer, expected) is verdict
