"""Run one DAG in a real Airflow, and print as JSON how each task ended and what it returned."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any

from airflow.sdk import DAG


def main(path: str, dag_id: str) -> None:
    specification = importlib.util.spec_from_file_location("dags_under_test", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules["dags_under_test"] = module
    specification.loader.exec_module(module)
    dag = next(found for found in vars(module).values() if isinstance(found, DAG) and found.dag_id == dag_id)
    run = dag.test()
    told: dict[str, Any] = {"state": str(run.state.value if hasattr(run.state, "value") else run.state), "tasks": {}}
    for instance in run.get_task_instances():
        told["tasks"][instance.task_id] = {
            "state": str(instance.state),
            "returned": instance.xcom_pull(task_ids=instance.task_id, key="return_value"),
            "lineage": instance.xcom_pull(task_ids=instance.task_id, key="tidegate_lineage"),
        }
    print("TOLD " + json.dumps(told, default=str))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main(*sys.argv[1:])
