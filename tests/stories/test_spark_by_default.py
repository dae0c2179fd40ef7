"""Without any setting, Spark tasks move the rows of every kind of table. Spark's own event log is the witness."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit import sides
from kit.project import Story, child
from kit.sides import ask

pytestmark = [pytest.mark.postgres, pytest.mark.spark]

TABLES: dict[str, dict[str, Any]] = {
    "trades": {"kind": "partition", "partition_column": "cob"},
    "customers": {
        "kind": "scd2",
        "business_keys": ["id"],
        "cursor_column": "since",
        "flag_column": "latest",
        "initial_load": "full",
    },
    "currencies": {"kind": "static"},
}
SOURCE = """
CREATE TABLE customers (id int NOT NULL, name text, since timestamp NOT NULL, latest int NOT NULL);
INSERT INTO customers SELECT n, 'c' || n, timestamp '2024-01-01' + n * interval '1 s', 1 FROM generate_series(1, 50) n;
CREATE TABLE currencies (code text PRIMARY KEY, rate numeric);
INSERT INTO currencies VALUES ('EUR', 1), ('CHF', 0.9)
"""


SCRIPT = """
import json, sys
from tidegate import Tidegate
with Tidegate.from_file(sys.argv[1]) as tidegate:
    print(json.dumps([tidegate.run().to_dict(), tidegate.verify().to_dict()]))
"""


def events(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the events of this name, of all applications that logged here."""
    logs = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    lines = [json.loads(line) for path in logs for line in path.read_text().splitlines() if line.startswith("{")]
    return [event for event in lines if event["Event"] == name]


def tasks(folder: Path) -> list[dict[str, Any]]:
    """Return the tasks that ended well."""
    ended = events(folder, "SparkListenerTaskEnd")
    return [event for event in ended if event["Task End Reason"]["Reason"] == "Success"]


def bytes_from_python(task: dict[str, Any]) -> int:
    sizes = {value["Name"]: int(value.get("Update", 0)) for value in task["Task Info"]["Accumulables"]}
    return sizes.get("data returned from Python workers", 0)


def test_rows_of_a_default_run_move_in_spark_tasks(story: Story, tmp_path: Path):
    """Every kind is extracted, loaded and verified by tasks of Python workers."""
    for statement in SOURCE.strip().split(";\n"):
        sides.do(story.source, statement)
    log = tmp_path / "events"
    log.mkdir()
    configuration = tmp_path / "tidegate.yml"
    places = {"source": story.source, "target": story.target, "lake": str(story.lake), "tables": TABLES}
    options = {"spark.eventLog.enabled": True, "spark.eventLog.dir": str(log), "spark.eventLog.compress": False}
    configuration.write_text(yaml.safe_dump({**places, "spark": {"options": options}}))

    with child("-c", SCRIPT, configuration) as process:
        output, errors = process.communicate(timeout=200)

    assert process.returncode == 0, errors
    run, verified = json.loads(output)
    assert (run["engine"], verified["engine"], verified["outcome"]) == ("local", "local", "equal")
    extracted = [step for step in run["steps"] if step["step"] == "extract"]
    assert {step["table"] for step in extracted} == set(TABLES)
    moved = tasks(log)
    # At least one for facts and one for the others, in each phase of the run, and two that compare.
    assert len(moved) >= 6
    assert all(bytes_from_python(task) > 0 for task in moved)
    for job in events(log, "SparkListenerJobStart"):
        assert re.search(r"tidegate (extract|load|verify) r-\d{8}-", job["Properties"]["spark.job.tags"])
    assert ask(story.target, "SELECT count(*) FROM customers") == [(50,)]
