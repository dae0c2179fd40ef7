"""Airflow 3: static tables, then dimensions, then facts, every morning, by the pipeline class and plain Python tasks.

The places come from the environment of the worker: PROD_URL, UAT_URL, LAKE.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pendulum
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG

TABLES: dict[str, Any] = {
    "partition_tables": {
        "fact_daily_transactions": {
            "partition_column": "COBID",
            "initial_load_count": 30,
            "sql_server_partitioned": True,
            "partition_switching": {"enabled": True, "switch_method": "auto", "max_parallel": 4},
        },
        "dim_date": {"partition_column": "DateKey", "initial_load_count": 365, "sql_server_partitioned": False},
    },
    "scd_tables": {"dim_customer": {"business_keys": ["customer_id"], "initial_load_days": 30}},
    "static_tables": {"ref_currency": {"primary_keys": ["currency_code"], "merge_strategy": "upsert"}},
}


def pipeline() -> Any:
    # Imported in the task: a parse of this file needs neither Spark nor a database.
    from tidegate import IncrementalSQLServerParquetPipeline

    return IncrementalSQLServerParquetPipeline(
        source_connection_string=os.environ["PROD_URL"],
        target_connection_string=os.environ["UAT_URL"],
        parquet_storage_path=os.environ.get("LAKE", "./lake"),
        engine=os.environ.get("TIDEGATE_ENGINE", "spark"),
    )


def sync_static_tables(params: dict[str, Any]) -> dict[str, Any]:
    with pipeline() as sync:
        sync.run_daily_incremental_pipeline(static_tables=params["static_tables"])
        return sync.get_pipeline_status({"static_tables": params["static_tables"]})


def sync_scd_tables(params: dict[str, Any]) -> dict[str, Any]:
    with pipeline() as sync:
        sync.run_daily_incremental_pipeline(scd_tables=params["scd_tables"])
        problems = sync.validate_scd_integrity(params["scd_tables"])
        if any(problems.values()):
            raise ValueError(f"The versions are not sound: {problems}")
        return sync.get_pipeline_status({"scd_tables": params["scd_tables"]})


def sync_partition_tables(params: dict[str, Any]) -> dict[str, Any]:
    with pipeline() as sync:
        for table, settings in params["partition_tables"].items():
            if settings.get("sql_server_partitioned"):
                unmet = [
                    name for name, met in sync.validate_partition_switching_prerequisites(table).items() if not met
                ]
                if unmet:
                    raise ValueError(f"{table} cannot be switched: {', '.join(unmet)}")
        sync.run_daily_incremental_pipeline(
            partition_tables=params["partition_tables"],
            force_partition_switching=params.get("force_switching", False),
        )
        return sync.get_pipeline_status({"partition_tables": params["partition_tables"]})


with DAG(
    "prod_to_uat_sync",
    description="Keep UAT in sync with PROD",
    schedule="0 6 * * *",
    start_date=pendulum.datetime(2024, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args={"owner": "data_team", "retries": 1, "retry_delay": timedelta(minutes=5)},
    params=TABLES,
) as dag:
    static = PythonOperator(task_id="sync_static_tables", python_callable=sync_static_tables)
    scd = PythonOperator(task_id="sync_scd_tables", python_callable=sync_scd_tables)
    partitions = PythonOperator(task_id="sync_partition_tables", python_callable=sync_partition_tables)
    static >> scd >> partitions
