"""The provider for Airflow, and the example DAGs, in a real Airflow 3 with its own database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kit import sides
from kit.project import TESTS
from kit.shop import Shop

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

EXAMPLES = TESTS.parent / "examples" / "airflow"
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of an Airflow with an empty SQLite database, whose DAGs are the examples."""
    place = tmp_path_factory.mktemp("airflow")
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(place),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES),
    }
    subprocess.run([BIN / "airflow", "db", "migrate"], env=environment, check=True, capture_output=True)
    return environment


def run(home: Mapping[str, str], dag: str, **variables: str) -> dict[str, Any]:
    """Run a DAG of the examples; return its state and its tasks."""
    path = next(path for path in EXAMPLES.glob("*.py") if f'"{dag}"' in path.read_text())
    ended = subprocess.run(
        [sys.executable, TESTS / "orchestrators" / "run_dag.py", path, dag],
        env={**home, **variables},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    told = [line for line in ended.stdout.splitlines() if line.startswith("TOLD ")]
    assert told, ended.stdout[-3000:] + ended.stderr[-3000:]
    found: dict[str, Any] = json.loads(told[0].removeprefix("TOLD "))
    return found


def test_airflow_knows_the_provider(home: Mapping[str, str]):
    listed = subprocess.run(
        [BIN / "airflow", "providers", "list", "-o", "json"], env=home, check=True, capture_output=True, text=True
    )
    providers = json.loads(listed.stdout[listed.stdout.index("[{") :])
    assert "tidegate" in {provider["package_name"] for provider in providers}


def test_operator_sensor_and_verification(home: Mapping[str, str], shop: Shop):
    """The report comes back by XCom, the sensor sees fresh tables, and the lineage names source, lake and target."""
    told = run(home, "tidegate_sync", TIDEGATE_CONFIG=str(shop.file()))
    assert (told["state"], {name: task["state"] for name, task in told["tasks"].items()}) == (
        "success",
        {"run": "success", "fresh": "success", "verify": "success"},
    )
    report = told["tasks"]["run"]["returned"]
    assert (report["outcome"], report["rows_loaded"]) == ("done", 352)
    assert told["tasks"]["verify"]["returned"]["outcome"] == "equal"
    lineage = {table["table"]: table for table in told["tasks"]["run"]["lineage"]}
    assert lineage["sales"]["source"]["rows"] == 300
    assert lineage["sales"]["target"]["name"].endswith(".public.sales")
    assert {receipt["success"] for receipt in lineage["sales"]["assertions"]} == {True}


def test_a_difference_fails_the_task_and_the_report_is_there(home: Mapping[str, str], shop: Shop):
    shop.run()
    sides.do(shop.target, "UPDATE sales SET amount = -1 WHERE cob = 20240102 AND id = 4")
    told = run(home, "tidegate_sync", TIDEGATE_CONFIG=str(shop.file()))
    assert (told["state"], told["tasks"]["verify"]["state"]) == ("failed", "failed")
    report = told["tasks"]["verify"]["returned"]
    assert [finding["value"] for finding in report["findings"] if finding["severity"] == "error"] == ["20240102"]
    [sales] = [table for table in told["tasks"]["verify"]["lineage"] if table["table"] == "sales"]
    receipts = sales["assertions"]
    assert [receipt["window"] for receipt in receipts if not receipt["success"]] == ["20240102"]


def test_lineage_of_a_task_for_openlineage(shop: Shop):
    pytest.importorskip("airflow.providers.openlineage")
    from tidegate.airflow.lineage import facets_of, operator_lineage

    project = shop.tidegate()
    tables = [facets_of(table) for table in project.lineage_of(project.run())]
    found = operator_lineage(json.loads(json.dumps(tables)), "run")
    assert {dataset.name.rsplit(".", 1)[-1] for dataset in found.inputs} == {"sales", "currencies", "Orders"}
    assert len(found.outputs) == 6


def test_assets_need_no_database(shop: Shop):
    from tidegate.airflow import assets

    path = shop.file()
    path.write_text(path.read_text().replace("127.0.0.1", "nowhere.invalid"))
    uris = [asset.uri for asset in assets(path)]
    assert len(uris) == 3
    assert all(uri.startswith("tidegate+postgres://") for uri in uris)
    assert not any(":" in uri.split("//")[1].split("@")[0] and "@" in uri for uri in uris), "no login"


def test_dag_of_the_pipeline_class(home: Mapping[str, str], shop: Shop):
    """Static tables, then dimensions, then facts; the facts are switched into native partitions."""
    for statement in (
        'CREATE TABLE fact_daily_transactions ("COBID" int NOT NULL, id bigint NOT NULL, amount numeric(38,18))',
        'CREATE TABLE dim_date ("DateKey" int NOT NULL, name text)',
        'CREATE TABLE dim_customer (customer_id int, name text, "LastModified" timestamp(6), "IsLatest" int)',
        "CREATE TABLE ref_currency (currency_code char(3) PRIMARY KEY, name text)",
        "INSERT INTO fact_daily_transactions SELECT 20240101 + n % 3, n, n / 7.0 FROM generate_series(1, 90) AS n",
        "INSERT INTO dim_date SELECT 20240100 + n, 'day ' || n FROM generate_series(1, 30) AS n",
        "INSERT INTO dim_customer SELECT n, 'c' || n, now() - interval '1 day', 1 FROM generate_series(1, 20) AS n",
        "INSERT INTO ref_currency VALUES ('EUR', 'Euro'), ('JPY', 'Yen')",
    ):
        shop.in_source(statement)
    sides.do(
        shop.target,
        'CREATE TABLE fact_daily_transactions ("COBID" int NOT NULL, id bigint NOT NULL, amount numeric(38,18))'
        ' PARTITION BY RANGE ("COBID")',
    )
    for day in (20240101, 20240102, 20240103):
        sides.do(
            shop.target,
            f"CREATE TABLE facts_{day} PARTITION OF fact_daily_transactions FOR VALUES FROM ({day}) TO ({day + 1})",
        )
    places = {"PROD_URL": shop.source, "UAT_URL": shop.target, "LAKE": str(shop.folder / "lake")}
    told = run(home, "prod_to_uat_sync", TIDEGATE_ENGINE="process", **places)
    assert told["state"] == "success"
    status = told["tasks"]["sync_partition_tables"]["returned"]
    assert status["fact_daily_transactions"]["consistent"] is True
    assert sides.ask(shop.target, "SELECT count(*) FROM fact_daily_transactions") == [(90,)]
    assert sides.ask(shop.target, "SELECT count(*) FROM dim_customer") == [(20,)]
