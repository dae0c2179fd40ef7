"""Airflow 3: Tidegate's own operator and sensor. TIDEGATE_CONFIG names the configuration file on the worker."""

from __future__ import annotations

import os

import pendulum
from airflow.sdk import DAG

from tidegate.airflow import TidegateFreshSensor, TidegateOperator, assets

CONFIG = os.environ.get("TIDEGATE_CONFIG", "tidegate.yml")

with DAG(
    "tidegate_sync", schedule="0 6 * * *", start_date=pendulum.datetime(2024, 1, 1, tz="UTC"), catchup=False
) as dag:
    # DAGs with `schedule=assets(CONFIG, "sales")` start when a run has ended well.
    run = TidegateOperator(task_id="run", config=CONFIG, outlets=assets(CONFIG), retries=1)
    fresh = TidegateFreshSensor(task_id="fresh", config=CONFIG, mode="reschedule", poke_interval=60, timeout=3600)
    verify = TidegateOperator(task_id="verify", config=CONFIG, verb="verify")
    run >> fresh >> verify
