"""`tidegate analyze` and `tidegate validate`: what is missing, what is wrong; empty when all is well."""

from __future__ import annotations

import json

import pytest

from kit import sides
from kit.project import cli
from kit.shop import Shop

pytestmark = [pytest.mark.postgres]


def test_a_sound_project_has_no_issues(shop: Shop):
    shop.run()
    assert shop.tidegate().validate() == {}
    code, output, _ = cli("validate", "-q", "-c", shop.file())
    assert (code, output.strip()) == (0, "validate: no issues")
    code, output, _ = cli("analyze", "--json", "-c", shop.file())
    found = json.loads(output)
    assert code == 0
    assert found["sales"]["values_in_source"] == found["sales"]["values_in_target"] == [20240101, 20240102, 20240103]
    assert found["currencies"]["hash_mismatch"] is False
    assert found["Orders"]["processed_until"].startswith("2024-01-31 10:00:50")


def test_what_is_missing_is_named(shop: Shop):
    shop.run()
    shop.in_source("INSERT INTO sales VALUES (20240104, 901, 1, 'x', NULL)")
    shop.in_source("DELETE FROM currencies WHERE code = 'JPY'")
    found = shop.tidegate().analyze()
    assert found["sales"]["missing_in_target"] == found["sales"]["missing_in_parquet"] == [20240104]
    assert found["currencies"]["hash_mismatch"] is True
    code, output, _ = cli("analyze", "-c", shop.file(), "sales")
    assert code == 3
    assert "missing in target: 20240104" in output
    page = shop.tidegate().facts()["analysis"]
    assert {"table": "sales", "what": "missing in the target", "values": ["20240104"]} in page
    assert [each["what"] for each in page if each["table"] == "currencies"] == ["hashes differ", "pending"]


def test_issues_are_named_by_kind(shop: Shop):
    rules = [{"name": "few", "sql": "SELECT count(*) FROM sales", "expect": "< 10"}]
    shop.settings["tables"] = {"sales": {**shop.configuration()["tables"]["sales"], "checks": rules}}
    shop.run()
    sides.do(shop.target, "UPDATE sales SET amount = -1 WHERE cob = 20240102 AND id = 4")
    found = shop.tidegate().validate("sales")
    assert {*found["sales"]} == {"differences", "rules"}
    assert found["sales"]["rules"] == ["few: the answer is 300, expected < 10"]
    assert json.loads(json.dumps(found)) == found
    sides.do(shop.target, "ALTER TABLE sales ALTER COLUMN amount TYPE numeric(30,10)")
    [problem] = shop.tidegate().validate("sales")["sales"]["differences"]
    assert "amount is numeric(30,10) in the target" in problem


def test_values_without_a_native_partition_are_named(shop: Shop):
    sides.do(
        shop.target,
        "CREATE TABLE sales (cob integer NOT NULL, id bigint NOT NULL, amount numeric(38,18), note text, at timestamp)"
        " PARTITION BY RANGE (cob)",
    )
    sides.do(shop.target, "CREATE TABLE sales_1 PARTITION OF sales FOR VALUES FROM (20240101) TO (20240102)")
    sides.do(shop.target, "CREATE TABLE sales_rest PARTITION OF sales DEFAULT")
    shop.run()
    found = shop.tidegate().analyze("sales")["sales"]["native_partitions"]
    assert (found["partitions"], found["boundary_mismatches"]) == (2, [20240102, 20240103])
    assert shop.tidegate().validate("sales")["sales"]["partitions"] == [
        "no partition has bounds for 20240102",
        "no partition has bounds for 20240103",
    ]
