"""`tidegate monitor`: figures and alerts of real runs, and the outlets with real receivers."""

from __future__ import annotations

import json
import os
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kit import sides
from kit.project import cli
from kit.receiver import Receiver
from kit.shop import Shop, ago, conditions
from tidegate.errors import ConfigError, RunFailed

pytestmark = [pytest.mark.postgres]


def send(shop: Shop) -> list[str]:
    """Evaluate and send as `tidegate monitor` does; return what could not be sent."""
    project = shop.tidegate()
    return project.publish(project.monitor())


def test_a_healthy_project_has_no_alert(shop: Shop):
    shop.run()
    health = shop.tidegate().monitor()
    assert conditions(health) == set()
    assert (health.severity, health.exit_code) == ("ok", 0)
    sales = next(table for table in health.tables if table.table == "sales")
    assert (sales.state, sales.newest_source, sales.newest_target, sales.values_behind) == (
        "in sync",
        "20240103",
        "20240103",
        0,
    )
    assert (sales.loads, sales.failed_loads, sales.rows, sales.success_rate) == (3, 0, 300, 1.0)
    assert json.loads(json.dumps(health.to_dict()))["tables"][0]["success_rate"] == 1.0


def test_before_the_first_run_every_table_is_critical(shop: Shop):
    health = shop.tidegate().monitor()
    assert conditions(health) == {("critical", "no_load", name) for name in ("sales", "currencies", "Orders")}


def test_no_run_for_a_day_is_critical(shop: Shop):
    shop.run()
    ago(shop, hours=25)
    assert ("critical", "no_load", "sales") in conditions(shop.tidegate().monitor())


def test_data_that_did_not_move_is_an_alert_of_its_own(shop: Shop):
    """Runs succeed every day, and nothing new arrives in the source."""
    shop.run()
    ago(shop, days=3)
    shop.run()
    health = shop.tidegate().monitor("sales")
    assert conditions(health) == {("warning", "unmoved", "sales")}
    assert health.exit_code == 3


@pytest.mark.thorough
def test_a_day_without_data_does_not_count_as_standing_still(shop: Shop):
    days = [(datetime.now(UTC) - timedelta(days=back)).date().isoformat() for back in range(1, 4)]
    shop.settings["monitoring"] = {"holidays": days}
    shop.run()
    ago(shop, days=3)
    shop.run()
    assert conditions(shop.tidegate().monitor("sales")) == set()


def test_a_difference_is_critical_until_it_is_repaired(shop: Shop):
    shop.run()
    sides.do(shop.target, "UPDATE sales SET amount = -1 WHERE cob = 20240102 AND id = 4")
    assert shop.tidegate().verify("sales").exit_code == 3
    assert ("critical", "differs", "sales") in conditions(shop.tidegate().monitor("sales"))
    shop.tidegate().repair("sales")
    assert conditions(shop.tidegate().monitor("sales")) == {("info", "by_hand", "sales")}


def test_a_failed_load_is_critical_until_a_run_succeeds(shop: Shop):
    shop.run()
    shop.in_source("INSERT INTO sales VALUES (20240104, 901, 1, 'x', NULL)")
    sides.do(shop.target, "ALTER TABLE sales ADD CONSTRAINT small CHECK (id < 900)")
    with pytest.raises(RunFailed):
        shop.run()
    found = shop.tidegate().monitor("sales")
    assert {("critical", "load_failed", "sales"), ("warning", "success_rate", "sales")} <= conditions(found)
    sides.do(shop.target, "ALTER TABLE sales DROP CONSTRAINT small")
    shop.run()
    assert ("critical", "load_failed", "sales") not in conditions(shop.tidegate().monitor("sales"))


@pytest.mark.thorough
def test_other_settings_are_an_info(shop: Shop):
    shop.run()
    shop.settings["tables"] = {"sales": {**shop.configuration()["tables"]["sales"], "max_apply_rows": 1000}}
    shop.run()
    assert conditions(shop.tidegate().monitor()) == {("info", "settings_changed", "sales")}


def test_a_source_that_is_away_is_critical_and_the_rest_is_told(shop: Shop):
    shop.run()
    shop.source = shop.source.rsplit("/", 1)[0] + "/nowhere"
    health = shop.tidegate().monitor()
    assert health.severity == "critical"
    assert {condition for _, condition, _ in conditions(health)} == {"unreachable"}
    sales = next(table for table in health.tables if table.table == "sales")
    assert (sales.newest_target, sales.loads) == ("20240103", 3)


def test_a_target_that_is_away_is_critical(shop: Shop):
    shop.target = shop.target.rsplit("/", 1)[0] + "/nowhere"
    health = shop.tidegate().monitor()
    assert {condition for _, condition, _ in conditions(health)} == {"unreachable"}
    up = next(metric for metric in health.metrics if metric.name == "tidegate_up")
    assert up.value == 0


def test_the_calendar_says_what_is_late(shop: Shop):
    """The newest value is of 2024, and yesterday's is due at midnight."""
    shop.settings["monitoring"] = {"tables": {"sales": {"due": "00:00"}}}
    shop.run()
    health = shop.tidegate().monitor()
    assert conditions(health) == {("warning", "late", "sales")}
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    assert yesterday.isoformat() in health.alerts[0].text


def test_prometheus_reads_the_file(shop: Shop):
    path = shop.folder / "metrics" / "tidegate.prom"
    shop.settings["monitoring"] = {"prometheus": str(path)}
    shop.run()
    assert path.exists(), "a run writes the file, too"
    path.unlink()
    assert send(shop) == []
    families = {family.name: family for family in text_string_to_metric_families(path.read_text())}
    rows = {sample.labels["table"]: sample.value for sample in families["tidegate_table_rows"].samples}
    assert rows == {"sales": 300, "currencies": 2, "Orders": 50}
    states = {
        (sample.labels["table"], sample.labels["state"]): sample.value
        for sample in families["tidegate_table_state"].samples
    }
    assert states["sales", "in sync"] == 1
    assert states["sales", "failed"] == 0
    assert all(family.type == "gauge" and family.documentation for family in families.values())
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(path.parent) == ["tidegate.prom"], "nothing half-written is left"


def test_a_webhook_gets_the_alerts(shop: Shop, receiver: Receiver):
    shop.settings["monitoring"] = {
        "webhook": {"url": f"{receiver.url}/hook?key=s3cret", "headers": {"X-Team": "data"}},
        "after_run": False,
    }
    code, output, _ = cli("monitor", "-c", shop.file())
    assert code == 1
    assert "critical: sales: no run of this table has succeeded yet" in output
    [(path, headers, body)] = receiver.got
    assert (path, headers["X-Team"]) == ("/hook?key=s3cret", "data")
    document = json.loads(body)
    assert document["severity"] == "critical"
    assert {alert["condition"] for alert in document["alerts"]} == {"no_load"}
    assert document["text"].splitlines()[1].startswith("critical: ")
    receiver.answer = 500
    code, output, errors = cli("monitor", "-c", shop.file())
    assert "webhook: the receiver answered 500." in errors
    assert "s3cret" not in output + errors


@pytest.mark.thorough
def test_a_webhook_is_silent_without_an_alert(shop: Shop, receiver: Receiver):
    shop.settings["monitoring"] = {"webhook": receiver.url}
    shop.run()
    assert send(shop) == []
    assert receiver.got == []


@pytest.mark.thorough
def test_a_chat_gets_its_own_key(shop: Shop, receiver: Receiver):
    shop.settings["monitoring"] = {"webhook": {"url": receiver.url, "text_key": "text"}}
    assert send(shop) == []
    [(_, _, body)] = receiver.got
    assert list(json.loads(body)) == ["text"]


def test_a_command_gets_the_alerts(shop: Shop, tmp_path: Path):
    kept = tmp_path / "kept.json"
    program = f"import sys, pathlib; pathlib.Path({str(kept)!r}).write_text(sys.stdin.read())"
    shop.settings["monitoring"] = {"command": [sys.executable, "-c", program]}
    assert send(shop) == []
    assert json.loads(kept.read_text())["alerts"][0]["condition"] == "no_load"


@pytest.mark.thorough
def test_a_command_that_fails_is_said(shop: Shop):
    shop.settings["monitoring"] = {"command": [sys.executable, "-c", "raise SystemExit('no pager')"]}
    [problem] = send(shop)
    assert problem.endswith("ended with 1: no pager")


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")  # of apprise
def test_apprise_notifies(shop: Shop, receiver: Receiver):
    pytest.importorskip("apprise")
    shop.settings["monitoring"] = {"apprise": receiver.url.replace("http://", "json://")}
    assert send(shop) == []
    [(_, _, body)] = receiver.got
    document = json.loads(body)
    assert document["title"].endswith("3 alerts")
    assert "no run of this table has succeeded yet" in document["message"]
    assert document["type"] == "failure"
    receiver.answer = 500
    assert send(shop) == ["apprise: a service of apprise did not take the notification."]


def test_opentelemetry_receives_the_metrics(shop: Shop, receiver: Receiver):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    shop.settings["monitoring"] = {"opentelemetry": receiver.url, "after_run": False}
    shop.run()
    assert send(shop) == []
    [(path, _, body)] = receiver.got
    assert path == "/v1/metrics"
    found = ExportMetricsServiceRequest.FromString(body)
    [resource] = found.resource_metrics
    [scope] = resource.scope_metrics
    rows = next(metric for metric in scope.metrics if metric.name == "tidegate.table_rows")
    points = {point.attributes[0].value.string_value: point.as_double for point in rows.gauge.data_points}
    assert points == {"sales": 300, "currencies": 2, "Orders": 50}
    assert next(metric for metric in scope.metrics if metric.name == "tidegate.staging_bytes").unit == "By"


@pytest.mark.thorough
def test_opentelemetry_says_when_the_receiver_refuses(shop: Shop, receiver: Receiver):
    pytest.importorskip("opentelemetry.sdk")
    shop.settings["monitoring"] = {"opentelemetry": receiver.url}
    receiver.answer = 400
    assert send(shop) == ["opentelemetry: the receiver did not take the metrics."]


def test_openlineage_receives_a_run_with_its_receipts(shop: Shop, receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("openlineage.client")
    monkeypatch.setenv("OPENLINEAGE_PARENT_ID", "airflow/nightly.sync/0199aaaa-0000-7000-8000-000000000001")
    shop.settings["monitoring"] = {"openlineage": receiver.url, "after_run": False}
    shop.run()
    assert {path for path, _, _ in receiver.got} == {"/api/v1/lineage"}
    events = [json.loads(body) for _, _, body in receiver.got]
    assert [event["eventType"] for event in events] == ["START"] * 4 + ["COMPLETE"] * 4
    above = events[0]["run"]["facets"]["parent"]["job"]
    assert (above["namespace"], above["name"]) == ("airflow", "nightly.sync")
    assert events[0]["run"]["runId"] == events[-1]["run"]["runId"]
    sales = next(event for event in events[4:] if event["job"]["name"] == "tidegate.run.sales")
    assert sales["run"]["facets"]["parent"]["run"]["runId"] == events[0]["run"]["runId"]
    [source], [lake, target] = sales["inputs"], sales["outputs"]
    database = shop.source.rsplit("/", 1)[1].partition("?")[0]
    assert source["namespace"].startswith("postgres://")
    assert source["name"] == f"{database}.public.sales"
    assert source["inputFacets"]["inputStatistics"]["rowCount"] == 300
    assert lake["namespace"] == "file"
    assert target["outputFacets"]["outputStatistics"]["rowCount"] == 300
    receipts = source["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {(receipt["name"], receipt["success"]) for receipt in receipts} == {
        (day, True) for day in ("20240101", "20240102", "20240103")
    }


@pytest.mark.thorough
def test_openlineage_tells_which_window_differs(shop: Shop, receiver: Receiver):
    pytest.importorskip("openlineage.client")
    shop.run()
    sides.do(shop.target, "UPDATE sales SET amount = -1 WHERE cob = 20240102 AND id = 4")
    shop.settings["monitoring"] = {"openlineage": receiver.url, "after_run": False}
    shop.tidegate().verify("sales")
    sales = next(
        event
        for _, _, body in receiver.got
        if (event := json.loads(body))["job"]["name"] == "tidegate.verify.sales" and event["eventType"] != "START"
    )
    receipts = sales["inputs"][1]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {receipt["name"] for receipt in receipts if not receipt["success"]} == {"20240102"}


@pytest.mark.thorough
def test_a_lineage_receiver_that_is_away_is_a_warning(shop: Shop):
    """The run itself is done: its rows are committed."""
    pytest.importorskip("openlineage.client")
    shop.settings["monitoring"] = {"openlineage": "http://127.0.0.1:9", "after_run": False}
    report = shop.tidegate().run()
    assert (report.outcome, report.exit_code) == ("done", 0)
    assert {finding.check for finding in report.findings if finding.severity == "warning"} == {"monitoring"}


def test_json_has_everything(shop: Shop):
    shop.run()
    code, output, _ = cli("monitor", "--json", "-c", shop.file())
    document = json.loads(output)
    assert (code, document["severity"], document["not_sent"]) == (0, "ok", [])
    assert {table["table"] for table in document["tables"]} == {"sales", "currencies", "Orders"}
    assert document["last_run"]["verb"] == "run"


def test_an_unknown_key_of_an_outlet_is_refused_with_the_right_one(shop: Shop):
    shop.settings["monitoring"] = {"webhook": {"url": "http://127.0.0.1:9", "header": {}}}
    with pytest.raises(ConfigError, match="headers"):
        shop.tidegate()


def test_an_unknown_threshold_is_refused(shop: Shop):
    shop.settings["monitoring"] = {"tables": {"sales": {"unmovd": "1 hour"}}}
    with pytest.raises(ConfigError, match="unmovd"):
        shop.tidegate()
