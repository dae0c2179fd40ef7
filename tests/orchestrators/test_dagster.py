"""Tables as assets and receipts as checks, in a real Dagster that starts the command by Pipes."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import dagster
import pytest

from kit import sides
from kit.project import TESTS
from kit.shop import Shop

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@pytest.fixture
def example(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example's definitions, for the shop's configuration."""
    monkeypatch.setenv("TIDEGATE_CONFIG", str(shop.file()))
    path = TESTS.parent / "examples" / "dagster" / "definitions.py"
    specification = importlib.util.spec_from_file_location("definitions_under_test", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def checks(result: Any) -> dict[str, bool]:
    return {found.asset_key.path[-1]: found.passed for found in result.get_asset_check_evaluations()}


def test_tables_are_materialised_and_their_receipts_checked(example: ModuleType):
    result = dagster.materialize([example.tidegate], resources={"pipes": dagster.PipesSubprocessClient()})
    assert result.success
    rows = {
        event.asset_key.path[-1]: event.materialization.metadata["rows"].value
        for event in result.get_asset_materialization_events()
    }
    assert rows == {"sales": 300, "currencies": 2, "Orders": 50}
    assert checks(result) == {"sales": True, "currencies": True, "Orders": True}
    sales = next(found for found in result.get_asset_check_evaluations() if found.asset_key.path == ["sales"])
    assert sales.metadata["windows"].value == "20240101: equal\n20240102: equal\n20240103: equal"


def test_a_difference_is_a_failed_check(example: ModuleType, shop: Shop):
    shop.run()
    sides.do(shop.target, "UPDATE sales SET amount = -1 WHERE cob = 20240102 AND id = 4")
    job = dagster.Definitions(
        asset_checks=[example.verify],
        jobs=[dagster.define_asset_job("compare", dagster.AssetSelection.all_asset_checks())],
        resources={"pipes": dagster.PipesSubprocessClient()},
    ).resolve_job_def("compare")
    result = job.execute_in_process()
    assert checks(result) == {"sales": False, "currencies": True, "Orders": True}
    sales = next(found for found in result.get_asset_check_evaluations() if found.asset_key.path == ["sales"])
    assert sales.metadata["windows"].value.splitlines()[0] == "20240102: differs"


def test_a_failed_run_fails_the_step(example: ModuleType, shop: Shop):
    shop.run()
    shop.in_source("INSERT INTO sales VALUES (20240104, 901, 1, 'x', NULL)")
    sides.do(shop.target, "ALTER TABLE sales ADD CONSTRAINT small CHECK (id < 900)")
    result = dagster.materialize(
        [example.tidegate], resources={"pipes": dagster.PipesSubprocessClient()}, raise_on_error=False
    )
    assert not result.success
