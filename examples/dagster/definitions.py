"""Dagster: every table is an asset with a check of its receipts. TIDEGATE_CONFIG names the configuration."""

import os
import sys

import dagster

from tidegate.dagster import asset_specs, check_specs

CONFIG = os.environ.get("TIDEGATE_CONFIG", "tidegate.yml")


@dagster.multi_asset(specs=asset_specs(CONFIG), check_specs=check_specs(CONFIG))
def tidegate(context: dagster.AssetExecutionContext, pipes: dagster.PipesSubprocessClient):
    command = [sys.executable, "-m", "tidegate.cli.main", "run", "-q", "-c", CONFIG]
    return pipes.run(command=command, context=context).get_results()


@dagster.multi_asset_check(specs=check_specs(CONFIG), name="verify")
def verify(context: dagster.AssetCheckExecutionContext, pipes: dagster.PipesSubprocessClient):
    command = [sys.executable, "-m", "tidegate.cli.main", "verify", "-q", "-c", CONFIG]
    return pipes.run(command=command, context=context.op_execution_context).get_results()


definitions = dagster.Definitions(
    assets=[tidegate],
    schedules=[
        dagster.ScheduleDefinition("morning", cron_schedule="0 6 * * *", target=dagster.AssetSelection.assets(tidegate))
    ],
    resources={"pipes": dagster.PipesSubprocessClient()},
)
